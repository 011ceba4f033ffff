import CLinux
import EventLoop
import Glibc
import Logging

/// Accepts the connections of one listening socket, on one loop.
///
/// At the connection limit, or if descriptors (`EMFILE`) or memory are exhausted, and no idle connection can be closed,
/// the listener stops polling until a connection closes or `retryDelay` has passed: the level-triggered poller would
/// otherwise report the socket in every round.
actor Listener: ReadinessHandler {
    /// The events that the listener reports to its server.
    enum Event {
        case accepted(CInt, SocketAddress)
        /// Another connection waits; the event's result says whether there is room for it now.
        case needsRoom
    }

    /// Connections accepted before other sockets get their turn.
    static let acceptsPerTurnMax = 64
    /// Delay before a paused listener retries.
    static let retryDelay: Duration = .milliseconds(100)

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// How long the listener still accepts connections whose handshakes had begun when it stopped: one round trip of a
    /// slow client.
    static let stopDelay: Duration = .milliseconds(100)

    /// Interval between two warnings about the same problem.
    static let warningInterval: Duration = .seconds(10)

    private let limits: ConnectionLimits
    private let logger: Logger
    private var lastWarning: ContinuousClock.Instant?
    private let onEvent: @Sendable (Event) -> Bool
    private var socket: ListeningSocket?
    private var watch: Watch?
    private var retry: LoopTimer?
    private var stopTimer: LoopTimer?
    private var onStop: (@Sendable () -> Void)?
    private(set) var isPaused = false

    init(
        _ socket: ListeningSocket, loop: EventLoop, limits: ConnectionLimits, logger: Logger,
        onEvent: @escaping @Sendable (Event) -> Bool
    ) {
        self.loop = loop
        self.limits = limits
        self.logger = logger
        self.socket = socket
        self.onEvent = onEvent
    }

    func start() {
        retry = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.resume() } }
        watchSocket()
    }

    private func watchSocket() {
        guard let socket else { return }
        // All loops watch the one queue of an inherited socket.
        let interest: Readiness = socket.isInherited ? [.readable, .exclusive] : .readable
        watch = loop.watchIfPossible(socket.descriptor, for: interest, handler: self)
        if watch == nil { pause("the system has no memory or epoll watches left (fs.epoll.max_user_watches)") }
    }

    nonisolated func descriptorIsReady(_ readiness: Readiness) {
        assumeIsolated { $0.acceptConnections(atMost: Self.acceptsPerTurnMax) }
    }

    /// Polls again after a pause.
    func resume() {
        guard isPaused else { return }
        isPaused = false
        retry?.unset()
        watchSocket()
    }

    /// Refuses new handshakes, accepts connections that have begun, and then closes the socket. The queue of an
    /// inherited socket stays for the process that serves it next.
    func stop(then onStop: @escaping @Sendable () -> Void) {
        self.onStop = onStop
        guard let socket, !socket.isInherited else { return close() }
        socket.dropHandshakes()
        resume()
        acceptConnections(atMost: Int(ListeningSocket.backlog))
        stopTimer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.close() } }
        stopTimer?.set(after: Self.stopDelay)
    }

    /// Closes the socket; the kernel resets connections that were not accepted.
    func close() {
        guard socket != nil else { return }
        if let watch { loop.unwatch(watch) }
        watch = nil
        retry?.unset()
        stopTimer?.unset()
        (retry, stopTimer) = (nil, nil)
        socket = nil
        onStop?()
        onStop = nil
    }

    private func acceptConnections(atMost count: Int) {
        for _ in 0..<count {
            if !limits.hasRoom {
                guard isConnectionWaiting else { return }
                guard onEvent(.needsRoom) else { return pause("the limit of connections is reached") }
            }
            guard acceptConnection() else { return }
        }
    }

    /// Whether the next accept would succeed. Checked before an idle connection is closed to make room.
    private var isConnectionWaiting: Bool {
        guard let socket else { return false }
        var polled = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, 0) == 1
    }

    /// - Returns: false if no more connections can be accepted now.
    private func acceptConnection() -> Bool {
        guard let socket else { return false }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let flags = CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = storage.withSockaddr { accept4(socket.descriptor, $0, &length, flags) }
        guard descriptor >= 0 else { return canGoOn(after: errno) }
        guard let address = SocketAddress(storage) else {
            Glibc.close(descriptor)
            return true
        }
        _ = onEvent(.accepted(descriptor, address))
        return true
    }

    /// accept(2): an error that concerns only the connection being accepted does not stop the listener.
    private func canGoOn(after code: CInt) -> Bool {
        switch code {
        case EAGAIN, EWOULDBLOCK: return false
        case EMFILE, ENFILE:
            // accept(2) allocates a descriptor before it looks for a connection.
            guard isConnectionWaiting else { return false }
            guard !onEvent(.needsRoom) else { return true }
            pause(String(cString: strerror(code)))
            return false
        case ENOBUFS, ENOMEM:
            pause(String(cString: strerror(code)))
            return false
        default: return true
        }
    }

    private func pause(_ reason: String) {
        guard !isPaused else { return }
        warn(reason)
        isPaused = true
        if let watch { loop.unwatch(watch) }
        watch = nil
        retry?.set(after: Self.retryDelay)
    }

    private func warn(_ reason: String) {
        if let lastWarning, loop.now - lastWarning < Self.warningInterval { return }
        lastWarning = loop.now
        logger.warning("new connections have to wait", metadata: ["reason": "\(reason)"])
    }
}

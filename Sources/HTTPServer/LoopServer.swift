import EventLoop
import Logging

/// The part of a server that lives on one loop: its listeners, its application and its connections.
actor LoopServer {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let configuration: HTTPServerConfiguration
    private let limits: ConnectionLimits
    private let logger: Logger
    private let makeApplication: @Sendable (EventLoop) -> Application
    private var context: LoopContext?
    private var listeners: [Listener] = []
    private var connections: Set<ObjectIdentified<HTTPConnection>> = []
    private var isDraining = false
    private var drainTimer: LoopTimer?
    private var end: CheckedContinuation<Void, Never>?

    init(
        _ loop: EventLoop, _ configuration: HTTPServerConfiguration, _ limits: ConnectionLimits, _ logger: Logger,
        _ makeApplication: @escaping @Sendable (EventLoop) -> Application
    ) {
        self.loop = loop
        self.configuration = configuration
        self.limits = limits
        self.logger = logger
        self.makeApplication = makeApplication
    }

    /// Serves until the last connection has ended after `drain` or `abort`.
    func run(_ sockets: [ListeningSocket]) async {
        guard !isDraining else { return }
        start(sockets)
        await withCheckedContinuation { end = $0 }
    }

    private func start(_ sockets: [ListeningSocket]) {
        context = LoopContext(
            loop: loop, configuration: configuration, application: makeApplication(loop), logger: logger)
        listeners = sockets.map { socket in
            Listener(socket, loop: loop, limits: limits) { [weak self] descriptor, address in
                self?.assumeIsolated { $0.accept(descriptor, address) }
            }
        }
        for listener in listeners { listener.assumeIsolated { $0.start() } }
    }

    private func accept(_ descriptor: CInt, _ address: SocketAddress) {
        guard let context else { return }
        let isWelcome = limits.add(address.ip)
        let connection = HTTPConnection(
            PlainTransport(descriptor: descriptor), address: address, context: context
        ) { [weak self] connection in
            self?.assumeIsolated { $0.remove(connection) }
        }
        connections.insert(ObjectIdentified(connection))
        connection.assumeIsolated { $0.start(refusing: isWelcome ? nil : .tooManyConnections) }
    }

    private func remove(_ connection: HTTPConnection) {
        guard connections.remove(ObjectIdentified(connection)) != nil else { return }
        limits.remove(connection.address.ip)
        for listener in listeners { listener.assumeIsolated { $0.resume() } }
        endIfDone()
    }
}

// MARK: - Stopping

extension LoopServer {
    /// Accepts no more, lets what is in flight finish, and ends; what has not finished by the deadline is cut.
    func drain() {
        guard !isDraining else { return }
        isDraining = true
        for listener in listeners { listener.assumeIsolated { $0.stop() } }
        context?.isDraining = true
        drainTimer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.abort() } }
        drainTimer?.set(after: configuration.deadlines.drain)
        for connection in connections { connection.object.assumeIsolated { $0.drain() } }
        endIfDone()
    }

    /// Closes everything at once.
    func abort() {
        drain()
        for connection in connections { connection.object.assumeIsolated { $0.abort() } }
    }

    private func endIfDone() {
        guard isDraining, connections.isEmpty else { return }
        drainTimer?.unset()
        drainTimer = nil
        listeners = []
        end?.resume()
        end = nil
    }
}

/// An object as an element of a set: itself and no other.
struct ObjectIdentified<Object: AnyObject & Sendable>: Hashable, Sendable {
    let object: Object

    init(_ object: Object) { self.object = object }

    static func == (left: Self, right: Self) -> Bool { left.object === right.object }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(object)) }
}

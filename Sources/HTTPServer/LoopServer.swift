import EventLoop
import Glibc
import Logging

/// The part of a server that lives on one loop: its listeners, its application and its connections.
actor LoopServer {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let configuration: HTTPServerConfiguration
    private let limits: ConnectionLimits
    private let tls: TLSIdentity?
    private let logger: Logger
    private let makeApplication: @Sendable (EventLoop) -> Application
    private var context: LoopContext?
    private var listeners: [Listener] = []
    private var connections: Set<ObjectIdentified<HTTPConnection>> = []
    private var isDraining = false
    private var drainTimer: LoopTimer?
    private var end: CheckedContinuation<Void, Never>?

    init(
        _ loop: EventLoop, _ configuration: HTTPServerConfiguration, _ limits: ConnectionLimits,
        _ tls: TLSIdentity?, _ logger: Logger, _ makeApplication: @escaping @Sendable (EventLoop) -> Application
    ) {
        self.loop = loop
        self.configuration = configuration
        self.limits = limits
        self.tls = tls
        self.logger = logger
        self.makeApplication = makeApplication
    }

    /// Serves until the last connection has ended after `drain` or `abort`.
    func run(_ sockets: [ListeningSocket]) async {
        guard !isDraining else { return }
        start(sockets)
        await withCheckedContinuation {
            end = $0
            endIfDone()
        }
    }

    private func start(_ sockets: [ListeningSocket]) {
        context = LoopContext(
            loop: loop, configuration: configuration, application: makeApplication(loop), logger: logger)
        listeners = sockets.map { socket in
            Listener(socket, loop: loop, limits: limits, logger: logger) { [weak self] descriptor, address in
                self?.assumeIsolated { $0.accept(descriptor, address) }
            }
        }
        for listener in listeners { listener.assumeIsolated { $0.start() } }
    }

    private func accept(_ descriptor: CInt, _ address: SocketAddress) {
        let isWelcome = limits.add(address.ip)
        guard let context, let transport = makeTransport(descriptor, isWelcome: isWelcome) else {
            return limits.remove(address.ip)
        }
        let connection = HTTPConnection(transport, address: address, context: context) { [weak self] connection in
            self?.assumeIsolated { $0.remove(connection) }
        }
        connections.insert(ObjectIdentified(connection))
        connection.assumeIsolated { $0.start(refusing: isWelcome ? nil : .tooManyConnections) }
    }

    /// Nil closes the connection: a handshake is too much work for saying no.
    private func makeTransport(_ descriptor: CInt, isWelcome: Bool) -> sending (any Transport)? {
        guard let tls else { return PlainTransport(descriptor: descriptor) }
        guard isWelcome else {
            close(descriptor)
            return nil
        }
        return TLSTransport(descriptor: descriptor, context: tls.context)
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
        context?.isDraining = true
        for listener in listeners {
            listener.assumeIsolated { $0.stop { [weak self] in self?.assumeIsolated { $0.remove(listener) } } }
        }
        drainTimer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.abort() } }
        drainTimer?.set(after: configuration.deadlines.drain)
        for connection in connections { connection.object.assumeIsolated { $0.drain() } }
        endIfDone()
    }

    /// Closes everything at once.
    func abort() {
        drain()
        for listener in listeners { listener.assumeIsolated { $0.close() } }
        for connection in connections { connection.object.assumeIsolated { $0.abort() } }
    }

    private func remove(_ listener: Listener) {
        listeners.removeAll { $0 === listener }
        endIfDone()
    }

    private func endIfDone() {
        guard isDraining, connections.isEmpty, listeners.isEmpty else { return }
        drainTimer?.unset()
        drainTimer = nil
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

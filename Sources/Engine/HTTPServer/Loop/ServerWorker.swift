import Basics
import EventLoop
import Glibc
import HTTPApplication
import HTTPWire
import Logging

/// The part of a server on one loop: its listeners, its application, its connections, and the tasks of its
/// handlers, which are children of the task that calls ``run(_:)``.
actor ServerWorker {
    /// The state that the workers of all loops share.
    struct Shared: Sendable {
        let configuration: HTTPServerConfiguration
        let limits: ConnectionLimits
        let tls: ReloadableTLSContext?
        let forwarding: UntrustedForwarding
        let logger: Logger
        let makeApplication: @Sendable (EventLoop) -> Application
    }

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let shared: Shared
    /// Its place among the workers of all loops.
    private let number: Int
    private var context: LoopContext?
    /// Those of all loops, this one among them, until the server ends.
    private var workers: [ServerWorker] = []
    /// Connections that were passed to other loops, which have not answered yet.
    private var passedCount = 0
    private var listeners: [Listener] = []
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    private var isDraining = false
    private var drainTimer: LoopTimer?

    init(_ loop: EventLoop, number: Int, _ shared: Shared) {
        self.loop = loop
        self.number = number
        self.shared = shared
    }

    /// Serves until the last connection and the last handler have ended after `drain` or `abort`.
    ///
    /// Cancelling the calling task would cancel all handlers at once.
    ///
    /// - Parameter workers: those of all loops.
    func run(_ sockets: [ListeningSocket], among workers: [ServerWorker]) async {
        guard !isDraining else { return }
        self.workers = workers
        defer { self.workers = [] }
        let context = LoopContext(
            loop: loop, configuration: shared.configuration, application: shared.makeApplication(loop),
            forwarding: shared.forwarding, logger: shared.logger)
        self.context = context
        shared.limits.begin(number)
        start(sockets)
        await context.handlers.run()
    }

    private func start(_ sockets: [ListeningSocket]) {
        listeners = sockets.map { socket in
            Listener(socket, loop: loop, limits: shared.limits, logger: shared.logger) { [weak self] event in
                self?.assumeIsolated { $0.handle(event) } ?? false
            }
        }
        for listener in listeners { listener.assumeIsolated { $0.start() } }
    }

    /// - Returns: for `needsRoom`, whether there is room now.
    private func handle(_ event: Listener.Event) -> Bool {
        switch event {
        case .accepted(let descriptor, let address): accept(descriptor, address)
        case .needsRoom: return makeRoom()
        }
        return true
    }

    private func accept(_ descriptor: CInt, _ address: SocketAddress) {
        guard let context else { return }
        guard let server = shared.limits.add(address.ip, acceptedBy: number) else {
            return refuse(descriptor, context)
        }
        if server == number { serve(descriptor, address) } else { pass(descriptor, address, to: workers[server]) }
    }

    private func pass(_ descriptor: CInt, _ address: SocketAddress, to other: ServerWorker) {
        passedCount += 1
        other.loop.execute { other.assumeIsolated { $0.take(descriptor, address, from: self) } }
    }

    /// Serves a connection that another loop has accepted, or returns it if this one has not begun or has ended.
    private func take(_ descriptor: CInt, _ address: SocketAddress, from other: ServerWorker) {
        let isRunning = context != nil && !isDraining
        if isRunning { serve(descriptor, address) }
        other.loop.execute { [number] in
            other.assumeIsolated { $0.passed(descriptor, address, isRunning ? nil : number) }
        }
    }

    /// - Parameter returning: the loop that did not take the connection.
    private func passed(_ descriptor: CInt, _ address: SocketAddress, _ returning: Int?) {
        passedCount -= 1
        if let returning {
            shared.limits.move(from: returning, to: number)
            serve(descriptor, address)
        }
        endIfDone()
    }

    private func serve(_ descriptor: CInt, _ address: SocketAddress) {
        guard let context, let transport = makeTransport(descriptor) else {
            return shared.limits.remove(address.ip, from: number)
        }
        let connection = HTTPConnection(transport, address: address, context: context) { [weak self] connection in
            self?.assumeIsolated { $0.remove(connection) }
        }
        connections[ObjectIdentifier(connection)] = connection
        connection.start()
    }

    /// Nil if memory is exhausted; the descriptor is then closed.
    private func makeTransport(_ descriptor: CInt) -> (any Transport)? {
        guard let tls = shared.tls else { return PlainTransport(descriptor: descriptor) }
        return TLSTransport(descriptor: descriptor, context: tls.context(now: loop.now))
    }

    /// Closes a connection beyond its network's limit. A plain-text client gets a response; a refusal is not worth a
    /// TLS handshake. The refused connection takes no slot and does not linger, so that a flood of them costs little; a
    /// client that is still sending may see a reset instead.
    private func refuse(_ descriptor: CInt, _ context: LoopContext) {
        let transport = PlainTransport(descriptor: descriptor)
        defer { transport.close(reset: false) }
        guard shared.tls == nil else { return }
        _ = transport.read(into: context.readBuffer, bytesMax: .max)
        let response = context.render(.tooManyConnections, context.makeRequestID())
        guard case .bytes(let body) = response.body else { return }
        var bytes: [UInt8] = []
        try? ResponseEncoder.closing.encode(
            response.status, response.fields, body: body.span, date: context.date.value(), into: &bytes)
        _ = bytes.withUnsafeBytes { transport.write($0, hasMore: false) }
        transport.finishWriting()
    }

    /// Closes the most dispensable connection. If this loop has none, the other loops are asked in turn; the first that
    /// closes one lets this loop's listeners go on.
    private func makeRoom() -> Bool {
        if closeMostDispensable() { return true }
        askNext(for: self)
        return false
    }

    private func askNext(for worker: ServerWorker) {
        guard !workers.isEmpty, case let next = workers[(number + 1) % workers.count], next !== worker else { return }
        next.loop.execute { next.assumeIsolated { $0.makeRoom(for: worker) } }
    }

    private func makeRoom(for worker: ServerWorker) {
        guard closeMostDispensable() else { return askNext(for: worker) }
        worker.loop.execute { worker.assumeIsolated { $0.resumeListeners() } }
    }

    private func closeMostDispensable() -> Bool {
        let count = connections.count
        // A connection on which a request has arrived is no longer idle.
        while let idle = context?.mostDispensable {
            idle.closeIfDispensable()
            if connections.count < count { return true }
        }
        return false
    }

    private func resumeListeners() {
        for listener in listeners { listener.assumeIsolated { $0.resume() } }
    }

    private func remove(_ connection: HTTPConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        shared.limits.remove(connection.address.ip, from: number)
        resumeListeners()
        endIfDone()
    }
}

// MARK: - Stopping

extension ServerWorker {
    /// Accepts no more connections, finishes the requests in flight, and ends. At the deadline the rest is cut.
    func drain() {
        guard !isDraining else { return }
        isDraining = true
        shared.limits.drain(number)
        context?.isDraining = true
        for listener in listeners {
            listener.assumeIsolated { $0.stop { [weak self] in self?.assumeIsolated { $0.remove(listener) } } }
        }
        drainTimer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.abort() } }
        drainTimer?.set(after: shared.configuration.timeouts.drain)
        for connection in connections.values { connection.drain() }
        endIfDone()
    }

    /// Closes everything at once.
    func abort() {
        drain()
        for listener in listeners { listener.assumeIsolated { $0.close() } }
        for connection in connections.values { connection.abort() }
    }

    private func remove(_ listener: Listener) {
        listeners.removeAll { $0 === listener }
        endIfDone()
    }

    private func endIfDone() {
        guard isDraining, connections.isEmpty, listeners.isEmpty, passedCount == 0 else { return }
        drainTimer?.unset()
        drainTimer = nil
        context?.handlers.stop()
    }
}

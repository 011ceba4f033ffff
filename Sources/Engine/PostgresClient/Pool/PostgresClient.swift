import EventLoop
import Logging
import Synchronization

/// A pool of connections on one event loop, for the code that runs on that loop.
///
/// - `execute` sends one unit on a shared connection: for all work of one round trip.
/// - `withTransaction` and `withConnection` lend one connection exclusively.
/// - `run()` keeps the connections open until its task is cancelled, which closes them.
///
/// Cancelling a task that waits for a connection ends its wait. A sent unit is completed anyway: see
/// `PostgresConnection`.
public actor PostgresClient {
    /// The loop of the pool and of its connections.
    public nonisolated let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    /// Fixed when the pool is created.
    public nonisolated let limits: PostgresPoolLimits

    nonisolated let configuration: PostgresConfiguration
    private let logger: Logger
    private let meters: PoolMeters
    private let reachable = Atomic<Bool>(false)
    private let failing = Atomic<Bool>(false)

    private var state: PoolStateMachine
    private var connections: [PoolStateMachine.ConnectionID: PostgresConnection] = [:]
    private var waiters: [PoolStateMachine.WaiterID: Waiter] = [:]
    private var lastFailure: PostgresError?
    private var lastGreetings: [String] = []
    private var finished: CheckedContinuation<Void, Never>?
    private var waitTimer: LoopTimer?
    private var pause: (id: PoolStateMachine.ConnectionID, timer: LoopTimer)?
    private var shutDownTimer: LoopTimer?

    /// - Parameter name: labels this pool's metrics: `writes`, `reads`.
    public init(
        _ configuration: PostgresConfiguration, on loop: EventLoop, limits: PostgresPoolLimits = PostgresPoolLimits(),
        name: String = "postgres", logger: Logger
    ) {
        self.configuration = configuration
        self.loop = loop
        self.limits = limits
        self.logger = logger
        meters = PoolMeters(pool: name)
        state = PoolStateMachine(limits: limits)
    }

    /// Whether there is a connection to the server, for `readyz`. Any thread may call it.
    public nonisolated var isReachable: Bool { reachable.load(ordering: .relaxed) }

    /// Whether there is no connection, because the last attempts to open one failed. Any thread may call it. A pool
    /// without `connectionsMin` tries again when it is used.
    public nonisolated var isFailing: Bool { failing.load(ordering: .relaxed) }

    /// Opens the connections and keeps them open. Returns when the task is cancelled and all connections are closed.
    /// Call it once.
    public func run() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                finished = continuation
                perform(state.run())
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.shutDown() } }
        }
    }

    /// Sends a unit on a shared connection and waits for its results, one per statement. It must not leave a
    /// transaction open.
    ///
    /// - Parameter timeout: starts when the unit is sent; `limits.unitTimeout` by default.
    public func execute(
        _ unit: [PostgresStatement], timeout: Duration? = nil
    ) async throws(PostgresError) -> [PostgresResult] {
        let start = loop.now
        let loan = try await borrow(.shared)
        do throws(PostgresError) {
            let results = try await loan.connection.execute(unit, timeout: timeout ?? limits.unitTimeout)
            release(loan)
            meters.unit(took: loop.now - start)
            return results
        } catch {
            release(loan)
            meters.count(error)
            throw error
        }
    }

    /// Sends one statement as a unit on a shared connection.
    public func execute(
        _ statement: PostgresStatement, timeout: Duration? = nil
    ) async throws(PostgresError) -> PostgresResult {
        try await execute([statement], timeout: timeout)[0]
    }

    /// As `execute`, for a unit that only reads. A unit whose deadline passes closes its connection, and nobody knows
    /// what became of the others on it; a read is sent again on another one, once.
    public func read(
        _ unit: [PostgresStatement], timeout: Duration? = nil
    ) async throws(PostgresError) -> [PostgresResult] {
        do throws(PostgresError) {
            return try await execute(unit, timeout: timeout)
        } catch {
            guard error.isOfNeighbour else { throw error }
            return try await execute(unit, timeout: timeout)
        }
    }

    /// Sends one statement that only reads.
    public func read(
        _ statement: PostgresStatement, timeout: Duration? = nil
    ) async throws(PostgresError) -> PostgresResult {
        try await read([statement], timeout: timeout)[0]
    }
}

// MARK: - Borrowing

extension PostgresClient {
    /// A lent connection.
    struct Loan: Sendable {
        let id: PoolStateMachine.ConnectionID
        let use: PoolStateMachine.Use
        let connection: PostgresConnection
    }

    /// A borrower in the state's queue. Its loan may arrive before its continuation exists.
    private enum Waiter {
        case registered
        case waiting(CheckedContinuation<Result<Loan, PostgresError>, Never>)
        case served(Result<Loan, PostgresError>)
    }

    func borrow(_ use: PoolStateMachine.Use) async throws(PostgresError) -> Loan {
        let (request, actions) = state.borrow(use, now: loop.now)
        switch request {
        case .lend(let id):
            return try loan(id, use).get()
        case .refuse(let kind):
            let error = refusal(kind)
            meters.count(error)
            throw error
        case .wait(let id):
            waiters[id] = .registered
            return try await wait(id, actions).get()
        }
    }

    /// A connection with an open transaction, or with something in flight after exclusive use, cannot be lent again.
    func release(_ loan: Loan) {
        let isReusable = loan.connection.assumeIsolated { $0.isReusable(afterExclusiveUse: loan.use == .exclusive) }
        perform(state.release(loan.id, loan.use, isReusable: isReusable))
    }

    private func wait(_ id: PoolStateMachine.WaiterID, _ actions: [PoolStateMachine.Action]) async
        -> Result<Loan, PostgresError>
    {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if case .served(let result) = waiters.removeValue(forKey: id) {
                    continuation.resume(returning: result)
                } else {
                    waiters[id] = .waiting(continuation)
                }
                perform(actions)
                setWaitTimer()
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.abandon(id) } }
        }
    }

    func count(_ error: PostgresError) {
        meters.count(error)
    }

    func transactionEnded(since start: ContinuousClock.Instant) {
        meters.transaction(took: loop.now - start)
    }

    private func serve(_ id: PoolStateMachine.WaiterID, _ result: Result<Loan, PostgresError>) {
        switch waiters.removeValue(forKey: id) {
        case .registered: waiters[id] = .served(result)
        case .waiting(let continuation): continuation.resume(returning: result)
        case .served(let earlier): waiters[id] = .served(earlier)
        case nil: break
        }
    }

    /// Does nothing if the caller has already got its loan, which it will return.
    private func abandon(_ id: PoolStateMachine.WaiterID) {
        state.abandon(id)
        serve(id, .failure(PostgresError(.cancelled)))
        meters.waiting(state.waiters.count)
    }

    private func publishState() {
        reachable.store(state.isReachable, ordering: .relaxed)
        failing.store(state.isFailing, ordering: .relaxed)
    }

    private func loan(
        _ id: PoolStateMachine.ConnectionID, _ use: PoolStateMachine.Use
    ) -> Result<Loan, PostgresError> {
        guard let connection = connections[id] else { return .failure(PostgresError(.unavailable)) }
        return .success(Loan(id: id, use: use, connection: connection))
    }

    /// Includes the reason why there is no connection.
    private func refusal(_ kind: PostgresError.Kind) -> PostgresError {
        var error = PostgresError(kind, message: kind == .unavailable ? lastFailure?.message : nil, retry: .yes)
        error.wasRefusedByPool = true
        return error
    }
}

// MARK: - Performing actions

extension PostgresClient {
    private func perform(_ actions: [PoolStateMachine.Action]) {
        guard !actions.isEmpty else { return }
        for action in actions { perform(action) }
        publishState()
        meters.connections(state.connections.count)
        meters.waiting(state.waiters.count)
    }

    private func perform(_ action: PoolStateMachine.Action) {
        switch action {
        case .connect(let id, let delay): connect(id, after: delay)
        case .lend(let id, let waiter, let use):
            serve(waiter, loan(id, use))
        case .refuse(let waiter, let kind):
            let error = refusal(kind)
            meters.count(error)
            serve(waiter, .failure(error))
        case .close(let id): close(id)
        case .finish:
            shutDownTimer?.unset()
            finished?.resume()
            finished = nil
        }
    }

    private func setWaitTimer() {
        guard let deadline = state.nextDeadline else { return }
        let timer =
            waitTimer
            ?? loop.makeTimer { [weak self] in
                self?.assumeIsolated { client in
                    client.perform(client.state.expire(now: client.loop.now))
                    client.setWaitTimer()
                }
            }
        waitTimer = timer
        timer.set(after: deadline - loop.now)
    }

    /// Stops lending, waits for lent connections, and closes those too at the deadline.
    private func shutDown() {
        perform(state.shutDown())
        endPause()
        guard finished != nil else { return }
        shutDownTimer = loop.makeTimer { [weak self] in
            self?.assumeIsolated { $0.perform($0.state.closeAll()) }
        }
        shutDownTimer?.set(after: limits.shutDownTimeout)
    }
}

// MARK: - Connecting and closing

extension PostgresClient {
    private func connect(_ id: PoolStateMachine.ConnectionID, after delay: Duration) {
        guard delay > .zero else { return connect(id) }
        let timer = loop.makeTimer { [weak self] in
            self?.assumeIsolated { client in
                client.pause = nil
                client.connect(id)
            }
        }
        timer.set(after: delay)
        pause = (id, timer)
    }

    /// Cancels the attempt that waits for its delay.
    private func endPause() {
        guard let (id, timer) = pause else { return }
        pause = nil
        timer.unset()
        perform(state.connectFailed(id, jitter: 0, now: loop.now))
    }

    private func connect(_ id: PoolStateMachine.ConnectionID) {
        Connector.connect(configuration) { [loop] result in
            loop.execute { self.assumeIsolated { $0.connected(id, result) } }
        }
    }

    private func connected(_ id: PoolStateMachine.ConnectionID, _ result: Result<ConnectionHandle, PostgresError>) {
        do throws(PostgresError) {
            let handle = try result.get()
            log(handle.greetings)
            connections[id] = try start(handle, id)
            if lastFailure != nil { logger.notice("Connected to PostgreSQL again") }
            lastFailure = nil
            perform(state.connected(id))
        } catch {
            connectFailed(id, error)
        }
    }

    /// Each connection is greeted alike.
    private func log(_ greetings: [String]) {
        guard greetings != lastGreetings else { return }
        lastGreetings = greetings
        for text in greetings { logger.warning("PostgreSQL warned at a connection", metadata: ["text": "\(text)"]) }
    }

    private func start(
        _ handle: ConnectionHandle, _ id: PoolStateMachine.ConnectionID
    ) throws(PostgresError) -> PostgresConnection {
        let connection = PostgresConnection(handle, on: loop)
        let outcome = connection.assumeIsolated { connection in
            Result { () throws(PostgresError) in
                try connection.start { [weak self] error in self?.assumeIsolated { $0.lost(id, error) } }
            }
        }
        try outcome.get()
        return connection
    }

    private func connectFailed(_ id: PoolStateMachine.ConnectionID, _ error: PostgresError) {
        if lastFailure == nil { logger.warning("No connection to PostgreSQL", metadata: ["reason": "\(error)"]) }
        lastFailure = error
        meters.count(error)
        perform(state.connectFailed(id, jitter: .random(in: 0...1), now: loop.now))
        setWaitTimer()
        publishState()
    }

    private func lost(_ id: PoolStateMachine.ConnectionID, _ error: PostgresError) {
        guard connections.removeValue(forKey: id) != nil else { return }
        if error.kind != .closed {
            logger.notice("A connection to PostgreSQL was lost", metadata: ["reason": "\(error)"])
        }
        perform(state.lost(id))
        publishState()
    }

    private func close(_ id: PoolStateMachine.ConnectionID) {
        connections[id]?.assumeIsolated { $0.close() }
    }
}

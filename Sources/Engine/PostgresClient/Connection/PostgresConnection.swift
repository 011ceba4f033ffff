import CPostgres
import DequeModule
import EventLoop

/// One connection to PostgreSQL in pipeline mode, on an event loop:
/// <https://www.postgresql.org/docs/15/libpq-pipeline-mode.html>.
///
/// A unit is a list of statements followed by one Sync: an implicit transaction, which commits completely or not at
/// all, unless it contains BEGIN or COMMIT itself. Units are sent in order, without waiting for earlier ones, and a
/// unit that fails does not affect the next.
///
/// A sent unit is completed even if the task that waits for it is cancelled: `execute` returns when the server has
/// responded or the deadline has passed, so no statement runs after the call has returned.
public actor PostgresConnection {
    /// Units in flight on one connection. Further ones would wait in the server's socket, invisible to this client.
    public static let unitsMax = 64

    /// The actor runs on this loop; calls from the loop need no switch of threads.
    public nonisolated let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let handle: ConnectionHandle
    private(set) var watch: Watch?
    private(set) var isWaitingToWrite = false
    var copy: Copy?
    private var units: Deque<PipelineUnit> = []
    private var cache = StatementCache()
    private var timer: LoopTimer?
    private var isTimerSet = false
    private var timerDeadline = ContinuousClock.now
    private var onClose: (@Sendable (PostgresError) -> Void)?

    /// Takes over an open connection. Call `start` before use.
    init(_ handle: ConnectionHandle, on loop: EventLoop) {
        self.handle = handle
        self.loop = loop
    }

    /// The server's process, as `pg_stat_activity.pid` shows it.
    public var serverProcessID: Int32 { handle.serverProcessID }

    /// False once the connection is closed or lost; it is not reopened.
    public var isOpen: Bool { watch != nil }

    /// Sent units whose results have not all arrived; at most `unitsMax`.
    public var unitsInFlight: Int { units.count }

    /// Whether the connection can be lent again: it is in no transaction, and after exclusive use nothing is in flight.
    func isReusable(afterExclusiveUse wasExclusive: Bool) -> Bool {
        guard isOpen else { return false }
        return units.isEmpty ? handle.transactionStatus == PQTRANS_IDLE : !wasExclusive
    }

    /// Sends a unit and waits for its results, one per statement.
    ///
    /// - Parameter timeout: after it the connection is closed, with everything in flight on it. libpq's function to
    ///   cancel a query blocks; the server detects the closed connection itself (`client_connection_check_interval`).
    /// - Throws: the first failure of the unit. `queueFull` if `unitsMax` are in flight.
    public func execute(
        _ unit: [PostgresStatement], timeout: Duration = .seconds(10)
    ) async throws(PostgresError) -> [PostgresResult] {
        let outcome = await withUnsafeContinuation { continuation in
            submit(PipelineUnit(statements: unit, deadline: loop.now + timeout, completion: continuation))
        }
        return try outcome.get()
    }

    /// Sends one statement as a unit.
    public func execute(
        _ statement: PostgresStatement, timeout: Duration = .seconds(10)
    ) async throws(PostgresError) -> PostgresResult {
        try await execute([statement], timeout: timeout)[0]
    }

    /// Closes the connection. Units in flight fail with `error`.
    public func close() {
        close(PostgresError(.closed))
    }
}

// MARK: - Opening and closing

extension PostgresConnection {
    /// Enters pipeline mode and lets the loop watch the connection. `onClose` is called once, on the loop, when the
    /// connection is closed for any reason.
    func start(onClose: @escaping @Sendable (PostgresError) -> Void) throws(PostgresError) {
        guard handle.enterPipelineMode(), let descriptor = handle.makeDescriptor(),
            let watch = loop.watchIfPossible(descriptor, for: .readable, handler: self)
        else { throw handle.lost() }
        self.watch = watch
        self.onClose = onClose
        timer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.timerFired() } }
    }

    private func lose() {
        close(handle.lost())
    }

    func close(_ error: PostgresError) {
        guard let watch else { return }
        self.watch = nil
        loop.unwatch(watch)
        timer?.unset()
        handle.close()
        failUnits(error)
        failCopy(error)
        onClose?(error)
        onClose = nil
    }

    /// Fails all units in flight: with `timeout` if a unit's deadline has passed, else with `error`.
    private func failUnits(_ error: PostgresError) {
        while var unit = units.popFirst() {
            unit.fail(unit.deadline <= loop.now ? PostgresError(.timeout) : error)
            unit.complete()
        }
    }
}

// MARK: - Sending

extension PostgresConnection {
    private func submit(_ unit: PipelineUnit) {
        guard isOpen else { return refuse(unit, PostgresError(.connectionLost, retry: .yes)) }
        guard copy == nil else {
            return refuse(unit, PostgresError(.protocolViolation, message: "a COPY is in progress", retry: .yes))
        }
        guard units.count < Self.unitsMax else { return refuse(unit, PostgresError(.queueFull)) }
        guard !unit.statements.isEmpty else { return unit.complete() }
        units.append(unit)
        guard send(unit.statements), handle.sendSync() else { return lose() }
        flush()
        setTimer(unit.deadline)
    }

    private func refuse(_ unit: PipelineUnit, _ error: PostgresError) {
        var unit = unit
        unit.fail(error)
        unit.complete()
    }

    private func send(_ statements: [PostgresStatement]) -> Bool {
        for index in statements.indices where !send(statements[index], index) { return false }
        return true
    }

    private func send(_ statement: PostgresStatement, _ index: Int) -> Bool {
        switch cache.decide(statement) {
        case .unprepared:
            addStep(.execute(index))
            return handle.sendUnprepared(statement)
        case .execute(let name):
            addStep(.execute(index))
            return handle.sendExecute(name, statement.binds)
        case .prepare(let name, let evicted):
            if let evicted {
                addStep(.deallocate)
                guard handle.sendDeallocate(evicted) else { return false }
            }
            addStep(.prepare(index))
            addStep(.execute(index))
            return handle.sendPrepare(name, statement) && handle.sendExecute(name, statement.binds)
        }
    }

    private func addStep(_ step: PipelineUnit.Step) {
        units[units.count - 1].steps.append(step)
    }

    /// Sends libpq's buffer, and polls for writability if some of it is left.
    func flush() {
        switch handle.flush() {
        case .done: waitToWrite(false)
        case .pending: waitToWrite(true)
        case .failed: lose()
        }
    }

    private func waitToWrite(_ wait: Bool) {
        guard wait != isWaitingToWrite, let watch else { return }
        isWaitingToWrite = wait
        loop.change(watch, to: wait ? [.readable, .writable] : .readable)
    }
}

// MARK: - Receiving

extension PostgresConnection: ReadinessHandler {
    /// For the loop only.
    public nonisolated func descriptorIsReady(_ readiness: Readiness) {
        assumeIsolated { $0.receive(readiness) }
    }

    private func receive(_ readiness: Readiness) {
        guard copy == nil else { return receiveCopy(readiness) }
        let isAlive = handle.consumeInput()
        // First reads the data that arrived before the end: it contains the server's reason.
        drain()
        guard isAlive, !handle.isBad else { return lose() }
        if isWaitingToWrite { flush() }
    }

    /// Processes the complete responses. libpq ends each command with NULL. Three in a row mean that libpq has lost
    /// count of the commands.
    private func drain() {
        var separators = 0
        while !units.isEmpty {
            switch handle.nextReply() {
            case .wait: return
            case .separator:
                separators += 1
                guard separators < 3 else {
                    return close(handle.isBad ? handle.lost() : PostgresError(.protocolViolation))
                }
            case .result(let result):
                separators = 0
                guard !result.isCopy else {
                    return close(PostgresError(.protocolViolation, message: "COPY is not possible here"))
                }
                receive(result)
            case .synced:
                separators = 0
                completeUnit()
            }
        }
        timer?.unset()
        isTimerSet = false
    }

    private func receive(_ result: ResultHandle) {
        switch units[0].receive(result) {
        case .none: break
        case .prepared(let key): cache.confirm(key)
        case .invalidated(let key): cache.remove(key)
        }
    }

    /// A read-only error means that the primary has moved. The connection is closed, so that the next one finds it.
    private func completeUnit() {
        guard let unit = units.popFirst() else { return }
        unit.complete()
        if unit.error?.kind == .readOnly { close(PostgresError(.connectionLost, message: "read-only server")) }
    }
}

// MARK: - Deadlines

extension PostgresConnection {
    /// Units usually have the same timeout, so one timer serves all: it is set for the oldest, and checks all when it
    /// fires.
    func setTimer(_ deadline: ContinuousClock.Instant) {
        guard !isTimerSet || deadline < timerDeadline else { return }
        isTimerSet = true
        timerDeadline = deadline
        timer?.set(after: deadline - loop.now)
    }

    private func timerFired() {
        isTimerSet = false
        let deadlines = units.map(\.deadline) + (copy.map { [$0.deadline] } ?? [])
        guard let next = deadlines.min() else { return }
        guard next <= loop.now else { return setTimer(next) }
        var error = PostgresError(.connectionLost, message: "another unit's deadline passed")
        error.isOfNeighbour = true
        close(error)
    }
}

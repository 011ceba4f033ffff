import EventLoop
import PostgresClient
import PushRegistry

/// Takes logouts of installations one by one and carries them to PostgreSQL many at a time (R6, R15): all that arrive while a
/// transaction is under way share the next. One lives on each event loop.
actor LogoutCoalescer {
    typealias Outcome = (status: Logout.Status, generation: Int64?)

    /// Logouts that wait for a transaction; more are refused. Some seconds of work.
    static let waitingMax = 16_384
    /// As many as registrations share one: their locks are held for milliseconds.
    static let batchMax = 128
    /// Transactions under way at once, so that one goes on while another waits for a lock or the disk.
    static let writers = 2
    /// How often a transaction is tried that loses races. Whoever locks installations does so in the same order, so this is rare.
    static let attemptsMax = 20

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let postgres: PostgresClient
    private var waiting = BatchQueue<PendingLogout>(countMax: waitingMax, batchMax: batchMax)

    init(postgres: PostgresClient) {
        self.postgres = postgres
        loop = postgres.loop
    }

    /// - Throws: `Logout.Refusal`, `StoreError`.
    func logOut(_ logout: Logout) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            guard !waiting.append(PendingLogout(logout: logout, continuation: continuation)) else { return }
            continuation.resume(throwing: waiting.isFinished ? StoreError.unavailable : StoreError.overloaded)
        }
    }

    /// Carries logouts until it is cancelled. Those that wait then are refused.
    func run() async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for _ in 0..<Self.writers {
                    group.addTask(executorPreference: loop) { await self.writeWaiting() }
                }
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.finish() } }
        }
    }

    private func finish() {
        for pending in waiting.finish() { pending.continuation.resume(throwing: StoreError.unavailable) }
    }

    private func writeWaiting() async {
        while !waiting.isFinished {
            await withCheckedContinuation { waiting.park($0) }
            let batch = waiting.takeBatch(distinctBy: \.logout.key)
            if !batch.isEmpty { await write(batch) }
        }
    }

    /// Each logout of the batch is answered in the end.
    private func write(_ batch: [PendingLogout]) async {
        do {
            let outcomes = try await attempt(batch)
            for (pending, outcome) in zip(batch, outcomes) {
                pending.continuation.resume(with: outcome.mapError { $0 as any Error })
            }
        } catch let error as PostgresError where batch.count > 1 && error.mayBeOneItem {
            // Nobody fails for a neighbour.
            for pending in batch { await write([pending]) }
        } catch {
            for pending in batch { pending.continuation.resume(throwing: StoreError(error)) }
        }
    }

    private func attempt(_ batch: [PendingLogout]) async throws -> [Result<Outcome, Logout.Refusal>] {
        var attempts = 1
        while true {
            do {
                return try await transaction(batch.map(\.logout))
            } catch let error as PostgresError where error.isLostRace && attempts < Self.attemptsMax {
                attempts += 1
            }
        }
    }

    private func transaction(_ logouts: [Logout]) async throws -> [Result<Outcome, Logout.Refusal>] {
        try await postgres.withTransaction { transaction in
            let keys = logouts.map(\.key)
            let results = try await transaction.execute([
                PostgresStatement(UserStatements.lock, keys.map(\.app.rawValue), keys.map(\.installID.rawValue)),
                PostgresStatement(RegistrationStatements.now),
            ])
            let now = Timestamp(try results[1][0].decode(0, as: PostgresTimestamp.self))
            let present = Dictionary(
                uniqueKeysWithValues: try results[0].map { try InstallationColumns.decode($0) }.map { ($0.key, $0) })
            let decisions = logouts.map { logout in
                Result { () throws(Logout.Refusal) in try logout.decision(on: present[logout.key], at: now) }
            }
            let accepted = decisions.compactMap { try? $0.get() }
            try await transaction.commit(after: statements(accepted, at: now))
            EventMeters.count(accepted.compactMap(\.event))
            return decisions.map { $0.map { ($0.status, $0.generation) } }
        }
    }

    private func statements(_ decisions: [Logout.Decision], at now: Timestamp) -> [PostgresStatement] {
        let (changed, events) = (decisions.compactMap(\.after), decisions.compactMap(\.event))
        let signOuts = decisions.flatMap(\.signOuts)
        var statements: [PostgresStatement] = []
        if !changed.isEmpty { statements.append(UserStatements.unbinding(changed)) }
        if !events.isEmpty {
            statements.append(TokenEvent.batch.statement(RegistrationStatements.appendEvents, events))
        }
        if !signOuts.isEmpty { statements.append(GuardStatements.remembering(signOuts, at: now)) }
        return statements
    }
}

/// A logout that somebody awaits.
private struct PendingLogout: Sendable {
    let logout: Logout
    let continuation: CheckedContinuation<LogoutCoalescer.Outcome, any Error>
}

import EventLoop
import PostgresClient
import PushRegistry

/// Providers' feedback in PostgreSQL: one transaction for each call, with any number of items (R9, R15). Each event
/// loop has one store.
///
/// A call reads without locks, and returns if nothing changes. Otherwise it writes on condition that the installations
/// are unchanged. If one has changed, or another transaction has locked one, the call starts over with locks.
public struct PostgresFeedbackStore: FeedbackStore {
    /// How often a transaction is tried that loses races.
    private static let attemptsMax = 20
    /// Calls of an app that wait for their turn; more are refused. Each may hold 8 MiB.
    static let waitingMax = 32
    /// How long a call waits for its turn. After this time its client has probably left.
    private static let waitMax = Duration.seconds(30)

    /// While PostgreSQL changes the rows of one call, the service decides about another one.
    private static let turns = 2
    /// On Citus, calls about apps of a node that hangs have some of the turns for a while.
    private static let turnsOnCitus = 4

    private let resources: LoopResources
    /// A call with a turn has one of the loop's connections.
    private let turns: Turns

    public init(_ resources: LoopResources) {
        self.resources = resources
        turns = Turns(
            loop: resources.loop, count: resources.postgres.isDistributed ? Self.turnsOnCitus : Self.turns,
            waitingMax: Self.waitingMax, waitMax: Self.waitMax)
    }

    public func apply(_ feedback: Feedback) async throws -> FeedbackCounts {
        do {
            return try await resources.serving(feedback.app) {
                try await turns.withTurn(of: feedback.app) {
                    do {
                        return try await applyUnlocked(feedback)
                    } catch let error where error.isLostRace || (error as? PostgresError)?.kind == .lockTimeout {
                        return try await applyLocked(feedback)
                    }
                }
            }
        } catch {
            throw StoreError(error)
        }
    }

    func applyUnlocked(_ feedback: Feedback) async throws -> FeedbackCounts {
        let waited = feedback.arrivedAt.duration(to: .now)
        let results = try await resources.postgres.execute([
            PostgresStatement(FeedbackStatements.now), FeedbackStatements.read(feedback),
        ])
        let now = try time(results[0])
        let write = try await decide(feedback, on: results[1], receivedAt: now.preceding(by: waited))
        guard !write.steps.isEmpty else { return write.counts }
        try await resources.postgres.withTransaction(.readCommitted) { transaction in
            if !write.retired.isEmpty {
                let ids = write.retired.map(\.before.installID)
                _ = try await transaction.execute(HolderStatements.lock(of: ids, in: feedback.app))
            }
            try await carryOut(write, of: feedback, at: now, transaction)
        }
        return write.counts
    }

    func applyLocked(_ feedback: Feedback) async throws -> FeedbackCounts {
        try await resources.postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            let waited = feedback.arrivedAt.duration(to: .now)
            let now = PostgresStatement(FeedbackStatements.now)
            let setUp = LockTimeoutStatements.of(.alone) + [now]
            let results = try await transaction.execute(setUp + FeedbackStatements.lock(feedback) + [now])
            let receivedAt = try time(results[setUp.count - 1]).preceding(by: waited)
            let write = try await decide(feedback, on: results[setUp.count + 1], receivedAt: receivedAt)
            try check(write.retired, locked: results[setUp.count])
            try await carryOut(write, of: feedback, at: time(results[setUp.count + 2]), transaction)
            return write.counts
        }
    }

    /// Decodes up to 10,000 rows and applies as many items.
    private func decide(
        _ feedback: Feedback, on rows: PostgresResult, receivedAt: Timestamp
    ) async throws -> FeedbackWrite {
        try await offLoop { try FeedbackWrite(feedback, on: rows, receivedAt: receivedAt) }
    }

    private func time(_ result: PostgresResult) throws -> Timestamp {
        resources.clock.now(Timestamp(try result[0].decode(0, as: PostgresTimestamp.self)))
    }

    /// A token that an installation gives up must be locked. An installation that is named by its id may have got
    /// another one after its tokens were locked.
    private func check(_ retired: [LockedFeedback.Change], locked: PostgresResult) throws {
        guard !retired.isEmpty else { return }
        let digests = Set(try locked.map { try $0.decode(1, as: [UInt8].self) })
        guard retired.compactMap(\.before.tokenSHA256).allSatisfy(digests.contains) else { throw LostRace() }
    }

    private func carryOut(
        _ write: FeedbackWrite, of feedback: Feedback, at now: Timestamp, _ transaction: PostgresTransaction
    ) async throws {
        guard !write.steps.isEmpty else { return }
        let statements = await offLoop { write.steps.map { FeedbackStatements.write($0, of: feedback, at: now) } }
        let results = try await transaction.execute(statements + [PostgresStatement(RegistrationStatements.now)])
        let position = try Moment(results[statements.count], resources.clock).position
        let records = try await offLoop { try write.records(of: results, by: feedback.actor, in: feedback.app) }
        try await transaction.commit(
            after: records.changes(now), recording: EventRecords(records.events, in: feedback.app, at: position))
        EventMeters.count(records.events)
    }
}

extension Timestamp {
    fileprivate func preceding(by duration: Duration) -> Timestamp {
        Timestamp(microseconds: microseconds - Int64(duration / .microseconds(1)))
    }
}

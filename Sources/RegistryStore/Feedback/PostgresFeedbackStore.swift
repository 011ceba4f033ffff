import PostgresClient
import PushRegistry

/// Providers' feedback against PostgreSQL: one transaction of two round trips, however many items there are (R9, R15).
public struct PostgresFeedbackStore: FeedbackStore {
    /// How often feedback that lost a race is tried again. Registrations lock in the same order, so this is rare.
    static let attemptsMax = 10

    private let postgres: PostgresClient
    private let turns: FeedbackTurns

    public init(postgres: PostgresClient) {
        self.postgres = postgres
        turns = FeedbackTurns(loop: postgres.loop)
    }

    public func apply(_ feedback: Feedback) async throws -> FeedbackCounts {
        try await turns.begin()
        do {
            let counts = try await attempt(feedback)
            await turns.end()
            return counts
        } catch {
            await turns.end()
            throw StoreError(error)
        }
    }

    private func attempt(_ feedback: Feedback) async throws -> FeedbackCounts {
        var receivedAt: Timestamp?
        var attempts = 1
        while true {
            do {
                return try await transaction(feedback, &receivedAt)
            } catch let error as PostgresError where error.isLostRace && attempts < Self.attemptsMax {
                attempts += 1
            }
        }
    }

    private func transaction(_ feedback: Feedback, _ receivedAt: inout Timestamp?) async throws -> FeedbackCounts {
        try await postgres.withTransaction { transaction in
            let results = try await transaction.execute([
                PostgresStatement(RegistrationStatements.now), FeedbackStatements.lock(feedback),
            ])
            let now = Timestamp(try results[0][0].decode(0, as: PostgresTimestamp.self))
            let received = receivedAt ?? now
            receivedAt = received
            let write = try await FeedbackWrite.decide(feedback, on: results[1], receivedAt: received, now: now)
            try await transaction.commit(after: write.statements)
            return write.counts
        }
    }
}

/// What the rules made of the feedback, ready to be written.
struct FeedbackWrite: Sendable {
    let counts: FeedbackCounts
    let statements: [PostgresStatement]

    /// Decodes, decides and encodes up to 10,000 rows on another thread: on the event loop other requests would wait for it.
    @concurrent static func decide(
        _ feedback: Feedback, on rows: PostgresResult, receivedAt: Timestamp, now: Timestamp
    ) async throws -> FeedbackWrite {
        var locked = LockedFeedback(
            feedback, on: try rows.map { try InstallationColumns.decode($0) }, receivedAt: receivedAt, now: now)
        var counts = FeedbackCounts()
        for item in feedback.items { counts.count(locked.apply(item)) }
        return FeedbackWrite(counts: counts, statements: statements(locked))
    }

    private static func statements(_ locked: LockedFeedback) -> [PostgresStatement] {
        let retired = locked.changed.filter { $0.state == .superseded }
        let judged = locked.changed.filter { $0.state != .superseded }
        var statements: [PostgresStatement] = []
        if !retired.isEmpty { statements.append(FeedbackStatements.retire(retired)) }
        if !judged.isEmpty { statements.append(FeedbackStatements.judge(judged)) }
        if !locked.events.isEmpty {
            statements.append(TokenEvent.batch.statement(RegistrationStatements.appendEvents, locked.events))
        }
        return statements
    }
}

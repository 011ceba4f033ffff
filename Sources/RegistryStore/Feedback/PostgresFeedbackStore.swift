import PostgresClient
import PushRegistry

/// Providers' feedback against PostgreSQL: one transaction of two round trips, however many items there are (R9, R15); of three where
/// something was not found.
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
            } catch is SubjectsMoved where attempts < Self.attemptsMax {
                attempts += 1
            } catch is SubjectsMoved {
                throw StoreError.overloaded
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
            if !write.missing.isEmpty {
                let found = try await transaction.execute([FeedbackStatements.exists(write.missing, in: feedback.app)])
                guard try !found[0][0].decode(0, as: Bool.self) else { throw SubjectsMoved() }
            }
            try await transaction.commit(after: write.statements)
            EventMeters.count(write.events)
            return write.counts
        }
    }
}

/// What the feedback names was made, or moved, while its transaction waited for a lock: the statement that waited saw a token neither
/// where it was nor where it went. Nobody may be told that a token is unknown which somebody held all the time.
private struct SubjectsMoved: Error {}

/// What a batch of feedback names and no locked row is.
struct MissingSubjects: Sendable {
    let installIDs: [InstallID]
    let addresses: [TokenAddress]

    var isEmpty: Bool { installIDs.isEmpty && addresses.isEmpty }

    init(of feedback: Feedback, among installations: [Installation]) {
        let items = feedback.items.filter(\.canMatter)
        let present = Set(installations.map(\.key.installID))
        let held = Set(installations.compactMap(\.address))
        installIDs = Array(Set(items.compactMap(\.installID)).subtracting(present))
        addresses = Array(Set(items.flatMap(\.addresses)).subtracting(held))
    }
}

/// What the rules made of the feedback, ready to be written.
struct FeedbackWrite: Sendable {
    let counts: FeedbackCounts
    let missing: MissingSubjects
    let events: [TokenEvent]
    let statements: [PostgresStatement]

    /// Decodes, decides and encodes up to 10,000 rows on another thread: on the event loop other requests would wait for it.
    @concurrent static func decide(
        _ feedback: Feedback, on rows: PostgresResult, receivedAt: Timestamp, now: Timestamp
    ) async throws -> FeedbackWrite {
        let installations = try rows.map { try InstallationColumns.decode($0) }
        var locked = LockedFeedback(feedback, on: installations, receivedAt: receivedAt, now: now)
        var counts = FeedbackCounts()
        for item in feedback.items { counts.count(locked.apply(item)) }
        return FeedbackWrite(
            counts: counts, missing: MissingSubjects(of: feedback, among: installations), events: locked.events,
            statements: statements(locked))
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

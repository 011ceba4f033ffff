import PostgresClient
import PushRegistry

/// Providers' feedback against PostgreSQL, one transaction however many items there are (R9, R15).
///
/// It is read without locks, in one round trip, and what changes nothing is answered from that. What has to be written is written in
/// another, on condition that the installations still are what they were read as. Where one is not, all is done again with locks,
/// which then nobody can get ahead of.
public struct PostgresFeedbackStore: FeedbackStore {
    /// How often feedback that lost a race is tried again. Registrations lock in the same order, so this is rare.
    static let attemptsMax = 10

    private let resources: LoopResources
    private let turns: FeedbackTurns

    public init(_ resources: LoopResources) {
        self.resources = resources
        turns = FeedbackTurns(loop: resources.loop)
    }

    private var postgres: PostgresClient { resources.postgres }

    public func apply(_ feedback: Feedback) async throws -> FeedbackCounts {
        try await turns.begin()
        do {
            let counts = try await attempt(feedback, .none)
            await turns.end()
            return counts
        } catch {
            await turns.end()
            throw StoreError(error)
        }
    }

    /// - Parameter hold: how it is read the first time.
    func attempt(_ feedback: Feedback, _ hold: FeedbackStatements.Hold) async throws -> FeedbackCounts {
        var hold = hold
        for _ in 1...Self.attemptsMax {
            do {
                return try await transaction(feedback, hold)
            } catch let error as PostgresError where error.isLostRace {
                hold = .locks
            } catch is FeedbackOvertaken {
                hold = .locks
            }
        }
        throw StoreError.overloaded
    }

    private func transaction(_ feedback: Feedback, _ hold: FeedbackStatements.Hold) async throws -> FeedbackCounts {
        try await postgres.withTransaction { transaction in
            let waited = feedback.arrivedAt.duration(to: .now)
            let results = try await transaction.execute([
                PostgresStatement(RegistrationStatements.now), FeedbackStatements.select(feedback, hold),
                // Again: what is written now comes after what was read, for which the statement may have waited.
                PostgresStatement(RegistrationStatements.now),
            ])
            let (asked, now) = (try Timestamp(told: results[0]), try Timestamp(told: results[2]))
            let write = try await FeedbackWrite.decide(
                feedback, on: results[1], receivedAt: asked.preceding(by: waited), now: now)
            if hold == .locks { try await check(write.missing, in: feedback.app, transaction) }
            try await carryOut(write, transaction)
            EventMeters.count(write.events)
            return write.counts
        }
    }

    /// One statement sees a token where it was or where it went; one that waited for a lock may have seen it in neither place.
    private func check(
        _ missing: MissingSubjects, in app: AppNumber, _ transaction: PostgresTransaction
    ) async throws {
        guard !missing.isEmpty else { return }
        let found = try await transaction.execute(FeedbackStatements.exists(missing, in: app))
        guard try !found[0].decode(0, as: Bool.self) else { throw FeedbackOvertaken() }
    }

    private func carryOut(_ write: FeedbackWrite, _ transaction: PostgresTransaction) async throws {
        guard !write.statements.isEmpty else { return }
        let results = try await transaction.execute(write.statements)
        guard results.reduce(0, { $0 + $1.affectedRows }) == write.affectedRows else { throw FeedbackOvertaken() }
        try await transaction.commit()
    }
}

/// What the feedback is about was changed, made or moved between reading and writing, or while a lock was waited for. Nobody may be told
/// that a token is unknown which somebody held all the time, or judged by what they were.
private struct FeedbackOvertaken: Error {}

/// What a batch of feedback names and no row that was read is.
struct MissingSubjects: Sendable {
    let installIDs: [InstallID]
    let addresses: [TokenAddress]

    var isEmpty: Bool { installIDs.isEmpty && addresses.isEmpty }

    init(of feedback: Feedback, among locked: LockedFeedback) {
        let items = feedback.items.filter(\.canMatter)
        installIDs = items.compactMap(\.installID).filter { !locked.has($0) }
        addresses = items.flatMap(\.addresses).filter { !locked.holds($0) }
    }
}

/// What the rules made of the feedback, ready to be written.
struct FeedbackWrite: Sendable {
    let counts: FeedbackCounts
    let missing: MissingSubjects
    let events: [TokenEvent]
    let statements: [PostgresStatement]
    /// By all statements together, if nobody got ahead of them.
    let affectedRows: Int

    /// Decodes, decides and encodes up to 10,000 rows on another thread: on the event loop other requests would wait for it.
    @concurrent static func decide(
        _ feedback: Feedback, on rows: PostgresResult, receivedAt: Timestamp, now: Timestamp
    ) async throws -> FeedbackWrite {
        let installations = try rows.map { try JudgedInstallation($0) }
        var locked = LockedFeedback(feedback, on: installations, receivedAt: receivedAt, now: now)
        let missing = MissingSubjects(of: feedback, among: locked)
        var counts = FeedbackCounts()
        for item in feedback.items { counts.count(locked.apply(item)) }
        return FeedbackWrite(locked.changes, of: feedback, counts, missing, at: now)
    }

    private init(
        _ changes: [LockedFeedback.Change], of feedback: Feedback, _ counts: FeedbackCounts, _ missing: MissingSubjects,
        at now: Timestamp
    ) {
        (self.counts, self.missing) = (counts, missing)
        events = changes.flatMap(\.events)
        let verdicts = changes.filter(\.isOneVerdict)
        let others = changes.filter { !$0.isOneVerdict }
        let otherEvents = others.flatMap(\.events)
        var statements: [PostgresStatement] = []
        if !verdicts.isEmpty { statements.append(FeedbackStatements.judge(verdicts, of: feedback, at: now)) }
        if !others.isEmpty {
            statements.append(FeedbackStatements.change(others, of: feedback, at: now))
            statements.append(EventStatements.append(otherEvents, in: feedback.app, at: 0))
        }
        self.statements = statements
        affectedRows = verdicts.count + others.count + otherEvents.count
    }
}

extension LockedFeedback.Change {
    /// One step, after which the installation holds its token still: as nearly all are.
    fileprivate var isOneVerdict: Bool { events.count == 1 && after.tokenSHA256 != nil }
}

extension Timestamp {
    fileprivate init(told result: PostgresResult) throws {
        self.init(try result[0].decode(0, as: PostgresTimestamp.self))
    }

    fileprivate func preceding(by duration: Duration) -> Timestamp {
        Timestamp(microseconds: microseconds - Int64(duration / .microseconds(1)))
    }
}

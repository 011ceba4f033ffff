import EventLoop
import Metrics
import PostgresClient
import PushRegistry

/// Providers' feedback in PostgreSQL: one transaction for each call, with any number of items (R9, R15). Each event
/// loop has one store.
///
/// A call reads without locks, and returns if nothing changes. Otherwise it writes on condition that the installations
/// are unchanged. If one has changed, or another transaction has locked one, the call starts over with locks.
public struct PostgresFeedbackStore: FeedbackStore {
    /// How often a transaction is tried that loses races.
    static let attemptsMax = 20
    /// Calls of an app that wait for their turn; more are refused. Each may hold 8 MiB.
    static let waitingMax = 32
    /// How long a call waits for its turn. After this time its client has probably left.
    private static let waitMax = Duration.seconds(30)

    /// While PostgreSQL changes the rows of one call, the service decides about another one.
    private static let turns = 2
    /// On Citus, calls about apps of a node that hangs have some of the turns for a while.
    private static let turnsOnCitus = 4

    let resources: LoopResources
    /// A call with a turn has one of the loop's connections.
    private let turns: Turns

    public init(_ resources: LoopResources) {
        self.resources = resources
        turns = Turns(
            loop: resources.loop, count: resources.isDistributed ? Self.turnsOnCitus : Self.turns,
            waitingMax: Self.waitingMax, waitMax: Self.waitMax)
    }

    public func apply(_ feedback: Feedback) async throws -> FeedbackCounts {
        try await resources.storing(feedback.app) {
            try await turns.withTurn(of: feedback.app) {
                do {
                    return try await applyUnlocked(feedback)
                } catch let error where error.isLostRace || error.isLockTimeout {
                    return try await applyLocked(feedback)
                }
            }
        }
    }

    func applyUnlocked(_ feedback: Feedback) async throws -> FeedbackCounts {
        let waited = feedback.arrivedAt.duration(to: .now)
        let results = try await resources.postgres.execute([
            PostgresStatement(FeedbackStatements.now), FeedbackStatements.read(feedback),
            PostgresStatement(FeedbackBreakerStatements.read, feedback.app.rawValue),
        ])
        let now = try time(results[0])
        let decision = try await decide(
            feedback, on: results[1], hours(results[2], at: now), receivedAt: now.preceding(by: waited), at: now)
        guard !decision.needsCount else { throw LostRace() }
        guard !decision.changes.events.isEmpty else { return decision.counts }
        try await resources.postgres.withTransaction(.readCommitted) { transaction in
            if !decision.retired.isEmpty {
                let ids = decision.retired.map(\.key.installID)
                _ = try await transaction.execute([HolderStatements.lock(of: ids, in: feedback.app)])
            }
            try await write(decision, of: feedback, transaction)
        }
        return decision.counts
    }

    func applyLocked(_ feedback: Feedback) async throws -> FeedbackCounts {
        var countsActive = false
        return try await resources.postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            let waited = feedback.arrivedAt.duration(to: .now)
            let now = PostgresStatement(FeedbackStatements.now)
            let setUp = LockTimeoutStatements.of(.alone) + [now]
            let breaker = PostgresStatement(FeedbackBreakerStatements.lock, feedback.app.rawValue)
            let active = PostgresStatement(FeedbackBreakerStatements.countActive, feedback.app.rawValue)
            let results = try await transaction.execute(
                setUp + FeedbackStatements.lock(feedback) + [breaker, now] + (countsActive ? [active] : []))
            let receivedAt = try time(results[setUp.count - 1]).preceding(by: waited)
            let found = results[setUp.count...]
            let lockedAt = try time(found[found.startIndex + 3])
            let hours = try hours(
                found[found.startIndex + 2], active: countsActive ? results[results.count - 1] : nil, at: lockedAt)
            let decision = try await decide(
                feedback, on: found[found.startIndex + 1], hours, receivedAt: receivedAt, at: lockedAt)
            // Counting the active installations takes milliseconds, so few transactions do it.
            guard !decision.needsCount else {
                countsActive = true
                throw LostRace()
            }
            try check(decision.retired, locked: found[found.startIndex])
            try await write(decision, of: feedback, transaction)
            return decision.counts
        }
    }

    private struct Decision: Sendable {
        var counts = FeedbackCounts()
        var changes: ChangeSet
        var hours: [FeedbackHour.Key: FeedbackHour] = [:]
        /// Whether it is none, because the breaker needs the number of active installations.
        var needsCount = false
        /// The installations that give up their tokens, before they do.
        var retired: [Installation] = []
    }

    /// Decodes up to 10,000 rows and applies as many items.
    private func decide(
        _ feedback: Feedback, on rows: PostgresResult, _ hours: [FeedbackHour.Key: FeedbackHour],
        receivedAt: Timestamp, at now: Timestamp
    ) async throws -> Decision {
        try await offLoop {
            let found = try rows.map { try InstallationColumns.decode($0) }
            var locked = LockedFeedback(
                feedback, on: found.map(\.installation), hours: hours, receivedAt: receivedAt, now: now)
            var decision = Decision(changes: ChangeSet(in: feedback.app, at: now))
            for item in feedback.items { decision.counts.count(locked.apply(item)) }
            decision.hours = locked.hours
            decision.needsCount = locked.hours.values.contains(where: \.needsCount)
            decision.counts.opened = Set(locked.hours.filter { $0.value.hasOpened }.map(\.key.provider))
            for change in locked.changes {
                let before = found[change.index]
                decision.changes.change(before, to: change.after)
                decision.changes.record(change.events)
                if change.after.state == .superseded { decision.retired.append(before.installation) }
            }
            return decision
        }
    }

    private func time(_ result: PostgresResult) throws -> Timestamp {
        Timestamp(try result[0].decode(0, as: PostgresTimestamp.self))
    }

    /// The present hours of an app.
    ///
    /// - Parameter active: the active installations of each provider; nil if they were not counted.
    private func hours(
        _ rows: PostgresResult, active: PostgresResult? = nil, at now: Timestamp
    ) throws -> [FeedbackHour.Key: FeedbackHour] {
        var hours: [FeedbackHour.Key: FeedbackHour] = [:]
        let stored = try rows.map(BreakerRow.init)
        let counted = try active.map { rows in
            try rows.reduce(into: [Provider: Int64]()) { counts, row in
                var reader = ColumnReader(row)
                let provider: Provider = try reader.nextLabel()
                counts[provider] = try reader.next()
            }
        }
        for provider in counted == nil ? [] : Provider.allCases {
            hours[.init(provider)] = FeedbackHour(nil, activeNow: counted?[provider] ?? 0, at: now)
        }
        for row in stored {
            let activeNow = counted.map { $0[row.key.provider] ?? 0 }
            hours[row.key] = FeedbackHour(row.stored, activeNow: activeNow, at: now)
        }
        return hours
    }

    /// A token that an installation gives up must be locked. An installation that is named by its id may have got
    /// another one after its tokens were locked.
    private func check(_ retired: [Installation], locked: PostgresResult) throws {
        guard !retired.isEmpty else { return }
        let digests = Set(try locked.map { try $0.decode(1, as: [UInt8].self) })
        guard retired.compactMap(\.tokenSHA256).allSatisfy(digests.contains) else { throw LostRace() }
    }

    private func write(
        _ decision: Decision, of feedback: Feedback, _ transaction: PostgresTransaction
    ) async throws {
        let changes = decision.changes
        guard !changes.events.isEmpty else { return }
        let rows = await offLoop { changes.rows }
        let results = try await transaction.execute(rows + [PostgresStatement(RegistrationStatements.now)])
        try changes.check(results.dropLast())
        let moment = try Moment(results[rows.count])
        let others = await offLoop { changes.others(at: moment) }
        // Last: calls of other senders write the same rows.
        let counts = FeedbackBreakerStatements.write(decision.hours, by: feedback.breaker, in: feedback.app)
        try await transaction.commit(after: others + counts)
        EventMeters.count(changes.events)
        for (key, hour) in decision.hours where hour.held > 0 {
            Counter(label: "push_registry_feedback_held_total", dimensions: [("provider", key.provider.rawValue)])
                .increment(by: hour.held)
        }
    }
}

extension Timestamp {
    fileprivate func preceding(by duration: Duration) -> Timestamp {
        Timestamp(microseconds: microseconds - Int64(duration / .microseconds(1)))
    }
}

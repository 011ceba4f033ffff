import EventLoop
import Metrics
import PostgresClient
import PushRegistry

/// Providers' feedback in PostgreSQL: one transaction for each call, with any number of items (R9, R15). Each event
/// loop has one store.
///
/// A call reads without locks, and returns if nothing changes. Otherwise it writes on condition that the installations
/// are unchanged. If one has changed, or another transaction has locked one, the call starts over with locks: of
/// tokens, of all its installations in the order of ids, and last of the breaker, for which other calls wait.
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
                var wanted = LockedFeedback.TypedSubjects()
                do {
                    return try await applyUnlocked(feedback, wanting: &wanted)
                } catch let error where error.isLostRace || error.isLockTimeout {
                    return try await applyLocked(feedback, wanting: wanted)
                }
            }
        }
    }

    /// - Parameter wanted: gets the typed tokens that the items may mean.
    func applyUnlocked(
        _ feedback: Feedback, wanting wanted: inout LockedFeedback.TypedSubjects
    ) async throws -> FeedbackCounts {
        let waited = feedback.arrivedAt.duration(to: .now)
        let results = try await resources.postgres.execute([
            RegistrationStatements.time(), FeedbackStatements.read(feedback),
            FeedbackBreakerStatements.read(feedback.app.rawValue),
        ])
        let now = try results[0][0].decode(0, as: Timestamp.self)
        let times = Times(receivedAt: now.preceding(by: waited), now: now)
        let hours = try hours(results[2], at: now)
        var found = try await offLoop { try results[1].map { try InstallationColumns.decode($0) } }
        var decision = await decide(feedback, on: found, hours, at: times)
        wanted = decision.wanted
        if !wanted.isEmpty {
            // Only tokens that are no main ones cost this round trip.
            let typed = try await resources.postgres.execute(FeedbackStatements.read(wanted, in: feedback.app))
            let known = Set(found.map(\.installation.key))
            found += try typed[0].map { try InstallationColumns.decode($0) }
                .filter { !known.contains($0.installation.key) }
            let tokens = try TypedTokenStatements.locked(typed[1], in: feedback.app, at: times.now)
            decision = await decide(feedback, on: found, tokens: tokens, hours, at: times)
        }
        guard !decision.needsCount else { throw LostRace() }
        guard decision.hasChanges else { return decision.counts }
        try await resources.postgres.withTransaction(.readCommitted) { transaction in
            if !decision.retired.isEmpty {
                let ids = decision.retired.map(\.key.installID)
                _ = try await transaction.execute([HolderStatements.lock(of: ids, in: feedback.app)])
            }
            try await write(decision, of: feedback, transaction)
        }
        return decision.counts
    }

    /// - Parameter wanted: the typed tokens that the items may mean. If they may mean others, it starts over.
    func applyLocked(
        _ feedback: Feedback, wanting wanted: LockedFeedback.TypedSubjects = .init()
    ) async throws -> FeedbackCounts {
        var (wanted, countsActive) = (wanted, false)
        return try await resources.postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            let waited = feedback.arrivedAt.duration(to: .now)
            let now = RegistrationStatements.time()
            let breaker = FeedbackBreakerStatements.lock(feedback.app.rawValue)
            let active = FeedbackBreakerStatements.countActive(feedback.app.rawValue)
            let results = try await transaction.execute(
                [now] + FeedbackStatements.lock(feedback, wanted) + [breaker, now] + (countsActive ? [active] : []),
                .alone)
            let (began, present): (Timestamp, Timestamp) = (try results[0][0].decode(0), try results[5][0].decode(0))
            let times = Times(receivedAt: began.preceding(by: waited), now: present)
            var hours = try hours(results[4], active: countsActive ? results[6] : nil, at: times.now)
            let found = try await offLoop { try results[2].map { try InstallationColumns.decode($0) } }
            let tokens = try TypedTokenStatements.locked(results[3], in: feedback.app, at: times.now)
            var decision = await decide(feedback, on: found, tokens: tokens, hours, at: times)
            guard decision.wanted.isCovered(by: wanted) else {
                wanted = decision.wanted
                throw LostRace()
            }
            let uncounted = decision.uncountedTokens(by: feedback.breaker)
            if !uncounted.isEmpty {
                let counts = try await transaction.execute([
                    FeedbackBreakerStatements.countTokens(uncounted, in: feedback.app)
                ])
                try count(counts[0], in: &hours, at: times.now)
                decision = await decide(feedback, on: found, tokens: tokens, hours, at: times)
            }
            // Counting the active installations takes milliseconds, so few transactions do it.
            guard !decision.needsCount else {
                countsActive = true
                throw LostRace()
            }
            try check(decision.retired, locked: results[1])
            try await write(decision, of: feedback, transaction)
            return decision.counts
        }
    }

    private struct Times: Sendable {
        let receivedAt: Timestamp
        let now: Timestamp
    }

    private struct Decision: Sendable {
        var counts: FeedbackCounts
        var changes: ChangeSet
        var hours: [FeedbackHour.Key: FeedbackHour] = [:]
        /// The installations that give up their tokens, before they do.
        var retired: [Installation] = []
        /// Typed tokens that may be meant.
        var wanted = LockedFeedback.TypedSubjects()
        var removed: [TokenKind: Int] = [:]

        /// Whether it is none, because the breaker needs the number of active installations or tokens.
        var needsCount: Bool { hours.values.contains(where: \.needsCount) }

        /// The kinds of typed tokens of which the breaker needs the number, and up to which number.
        func uncountedTokens(by breaker: FeedbackBreaker?) -> [FeedbackHour.Key: Int64] {
            guard let breaker else { return [:] }
            return hours.filter { $0.value.needsCount && !$0.key.kind.isEmpty }.mapValues { $0.activeMax(by: breaker) }
        }

        var hasChanges: Bool {
            !changes.events.isEmpty || !removed.isEmpty || hours.contains { $0.value.held > 0 }
        }
    }

    /// Applies up to 10,000 items.
    private func decide(
        _ feedback: Feedback, on found: [StoredInstallation], tokens: LockedTokens? = nil,
        _ hours: [FeedbackHour.Key: FeedbackHour], at times: Times
    ) async -> Decision {
        await offLoop {
            var locked = LockedFeedback(
                feedback, on: found.map(\.installation), tokens: tokens, hours: hours, receivedAt: times.receivedAt,
                now: times.now)
            for item in feedback.items { locked.apply(item) }
            var decision = Decision(counts: locked.counts, changes: ChangeSet(in: feedback.app, at: times.now))
            decision.wanted = locked.wanted
            guard tokens != nil || locked.wanted.isEmpty else { return decision }
            decision.removed = locked.removed
            decision.hours = locked.hours
            decision.counts.opened = Set(locked.hours.filter { $0.value.hasOpened }.map(\.key))
            for change in locked.changes {
                let before = found[change.index]
                decision.changes.record(change.events)
                if change.after.state == .superseded { decision.retired.append(before.installation) }
                decision.changes.change(before, to: change.after, changingTokens: change.changesTokens)
            }
            decision.changes.write(locked.tokens?.changes ?? [])
            return decision
        }
    }

    /// - Parameter rows: of `FeedbackBreakerStatements.countTokens`.
    private func count(
        _ rows: PostgresResult, in hours: inout [FeedbackHour.Key: FeedbackHour], at now: Timestamp
    ) throws {
        for row in rows {
            var reader = ColumnReader(row)
            let key = FeedbackHour.Key(try reader.nextLabel(), kind: try reader.next())
            hours[key] = FeedbackHour(hours[key]?.stored, activeNow: try reader.next(), at: now)
        }
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
            let activeNow = row.key.kind.isEmpty ? counted.map { $0[row.key.provider] ?? 0 } : nil
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
        guard decision.hasChanges else { return }
        let changes = decision.changes
        let rows = await offLoop { changes.rows }
        let results = try await transaction.execute(rows + [RegistrationStatements.now()])
        try changes.check(results.dropLast())
        let moment = try Moment(results[rows.count])
        let others = await offLoop { changes.others(at: moment) }
        // Last: calls of other senders write the same rows.
        let counts = FeedbackBreakerStatements.write(decision.hours, by: feedback.breaker, in: feedback.app)
        try await transaction.commit(after: others + counts)
        EventMeters.count(changes.events)
        EventMeters.count(removed: decision.removed)
        for (key, hour) in decision.hours where hour.held > 0 {
            Counter(label: "feedback_held_total", dimensions: [("provider", key.provider.rawValue)])
                .increment(by: hour.held)
        }
    }
}

extension Timestamp {
    fileprivate func preceding(by duration: Duration) -> Timestamp {
        Timestamp(microseconds: microseconds - Int64(duration / .microseconds(1)))
    }
}

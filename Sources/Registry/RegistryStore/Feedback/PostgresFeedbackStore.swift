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
            loop: resources.loop, count: resources.isDistributed ? Self.turnsOnCitus : Self.turns,
            waitingMax: Self.waitingMax, waitMax: Self.waitMax)
    }

    public func apply(_ feedback: Feedback) async throws -> FeedbackCounts {
        try await resources.storing(feedback.app) {
            try await turns.withTurn(of: feedback.app) {
                do {
                    return try await applyUnlocked(feedback)
                } catch let error where error.isLostRace || (error as? PostgresError)?.kind == .lockTimeout {
                    return try await applyLocked(feedback)
                }
            }
        }
    }

    func applyUnlocked(_ feedback: Feedback) async throws -> FeedbackCounts {
        let waited = feedback.arrivedAt.duration(to: .now)
        let results = try await resources.postgres.execute([
            PostgresStatement(FeedbackStatements.now), FeedbackStatements.read(feedback),
        ])
        let now = try time(results[0])
        let times = Times(receivedAt: now.preceding(by: waited), now: now)
        var found = try await offLoop { try results[1].map { try InstallationColumns.decode($0) } }
        var decision = await decide(feedback, on: found, at: times)
        if !decision.wanted.isEmpty {
            // Only tokens that are no main ones cost this round trip.
            let typed = try await resources.postgres.execute(
                FeedbackStatements.read(decision.wanted, in: feedback.app, locking: false))
            decision = try await decide(feedback, on: &found, typed, at: times)
        }
        guard decision.hasChanges else { return decision.counts }
        try await resources.postgres.withTransaction(.readCommitted) { transaction in
            if !decision.retired.isEmpty {
                let ids = decision.retired.map(\.key.installID)
                _ = try await transaction.execute([HolderStatements.lock(of: ids, in: feedback.app)])
            }
            try await write(decision, transaction)
        }
        return decision.counts
    }

    func applyLocked(_ feedback: Feedback) async throws -> FeedbackCounts {
        try await resources.postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            let waited = feedback.arrivedAt.duration(to: .now)
            let now = PostgresStatement(FeedbackStatements.now)
            let setUp = LockTimeoutStatements.of(.alone) + [now]
            let results = try await transaction.execute(setUp + FeedbackStatements.lock(feedback) + [now])
            let times = Times(
                receivedAt: try time(results[setUp.count - 1]).preceding(by: waited),
                now: try time(results[setUp.count + 2]))
            var found = try await offLoop { try results[setUp.count + 1].map { try InstallationColumns.decode($0) } }
            var decision = await decide(feedback, on: found, at: times)
            if !decision.wanted.isEmpty {
                // Another order of locks than elsewhere; a deadlock repeats the transaction.
                let typed = try await transaction.execute(
                    FeedbackStatements.read(decision.wanted, in: feedback.app, locking: true))
                decision = try await decide(feedback, on: &found, typed, at: times)
            }
            try check(decision.retired, locked: results[setUp.count])
            try await write(decision, transaction)
            return decision.counts
        }
    }

    private struct Times: Sendable {
        let receivedAt: Timestamp
        let now: Timestamp
    }

    private struct Decision: Sendable {
        let counts: FeedbackCounts
        var changes: ChangeSet
        /// The installations that give up their tokens, before they do.
        var retired: [Installation] = []
        /// Typed tokens that may be meant, if they were not read.
        var wanted = LockedFeedback.TypedSubjects()
        var removed: [TokenKind: Int] = [:]

        var hasChanges: Bool { !changes.events.isEmpty || !removed.isEmpty }
    }

    /// Applies up to 10,000 items.
    private func decide(
        _ feedback: Feedback, on found: [StoredInstallation], tokens: LockedTokens? = nil, at times: Times
    ) async -> Decision {
        await offLoop {
            var locked = LockedFeedback(
                feedback, on: found.map(\.installation), tokens: tokens, receivedAt: times.receivedAt, now: times.now)
            for item in feedback.items { locked.apply(item) }
            var decision = Decision(counts: locked.counts, changes: ChangeSet(in: feedback.app, at: times.now))
            guard tokens != nil || locked.wanted.isEmpty else {
                decision.wanted = locked.wanted
                return decision
            }
            decision.removed = locked.removed
            for change in locked.changes {
                decision.changes.record(change.events)
                if change.after.state == .superseded { decision.retired.append(found[change.index].installation) }
            }
            let disturbed = locked.tokens?.disturbed ?? []
            var after = Dictionary(uniqueKeysWithValues: locked.changes.map { ($0.index, $0.after) })
            for (index, stored) in found.enumerated() where disturbed.contains(stored.installation.key) {
                after[index] = after[index] ?? stored.installation
            }
            for (index, after) in after.sorted(by: { $0.value.key < $1.value.key }) {
                decision.changes.change(found[index], to: after, changingTokens: disturbed.contains(after.key))
            }
            decision.changes.write(locked.tokens?.changes ?? [])
            return decision
        }
    }

    /// Applies the items once more, with typed tokens.
    ///
    /// - Parameters:
    ///   - found: those that were read before. Gets those that have typed tokens.
    ///   - typed: of `FeedbackStatements.read(_:in:locking:)`.
    private func decide(
        _ feedback: Feedback, on found: inout [StoredInstallation], _ typed: [PostgresResult], at times: Times
    ) async throws -> Decision {
        let known = Set(found.map(\.installation.key))
        found += try typed[0].map { try InstallationColumns.decode($0) }
            .filter { !known.contains($0.installation.key) }
        let tokens = LockedTokens(
            try typed[1].map { try TypedTokenStatements.decode($0, in: feedback.app) }, now: times.now)
        return await decide(feedback, on: found, tokens: tokens, at: times)
    }

    private func time(_ result: PostgresResult) throws -> Timestamp {
        Timestamp(try result[0].decode(0, as: PostgresTimestamp.self))
    }

    /// A token that an installation gives up must be locked. An installation that is named by its id may have got
    /// another one after its tokens were locked.
    private func check(_ retired: [Installation], locked: PostgresResult) throws {
        guard !retired.isEmpty else { return }
        let digests = Set(try locked.map { try $0.decode(1, as: [UInt8].self) })
        guard retired.compactMap(\.tokenSHA256).allSatisfy(digests.contains) else { throw LostRace() }
    }

    private func write(_ decision: Decision, _ transaction: PostgresTransaction) async throws {
        guard decision.hasChanges else { return }
        let changes = decision.changes
        let rows = await offLoop { changes.rows }
        let results = try await transaction.execute(rows + [PostgresStatement(RegistrationStatements.now)])
        try changes.check(results.dropLast())
        let moment = try Moment(results[rows.count])
        let others = await offLoop { changes.others(at: moment) }
        try await transaction.commit(after: others)
        EventMeters.count(changes.events)
        EventMeters.count(removed: decision.removed)
    }
}

extension Timestamp {
    fileprivate func preceding(by duration: Duration) -> Timestamp {
        Timestamp(microseconds: microseconds - Int64(duration / .microseconds(1)))
    }
}

import PostgresClient
import PushRegistry

/// A queued change of a user's choices.
struct PendingUserTopics: BatchedWrite {
    typealias Outcome = TopicChoices

    let app: AppNumber
    let userID: UserID
    let patch: TopicsPatch

    var key: UserID { userID }
}

/// Writes a batch of changes of users' choices, all of one app, as one transaction (R15). It locks the users' buckets,
/// then their installations, whose merged choices it writes page by page.
struct UserTopicsWriter: Sendable {
    private static let attemptsMax = 20
    /// The most installations of one read and one write.
    private static let pageMax: Int64 = 1_000

    let postgres: PostgresClient

    /// - Throws: `PostgresError`: nothing was written.
    func write(
        _ batch: [PendingUserTopics], _ patience: LockPatience
    ) async throws -> [Result<TopicChoices, any Error>] {
        try await postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            try await write(batch, patience, transaction)
        }
    }

    private func write(
        _ batch: [PendingUserTopics], _ patience: LockPatience, _ transaction: PostgresTransaction
    ) async throws -> [Result<TopicChoices, any Error>] {
        let (app, digests) = (batch[0].app, batch.map { UserDigest.sha256($0.userID) })
        let setUp = LockTimeoutStatements.of(patience)
        let checks = CredentialChecks(batch.map { ($0.patch, nil) }, in: app)
        let results = try await transaction.execute(
            setUp + [
                LockBuckets(users: digests, in: app).exclusive,
                PostgresStatement(GuardStatements.users, app.rawValue, digests),
                lock(batch.map(\.userID), after: "", in: app),
                PostgresStatement(RegistrationStatements.now),
            ] + checks.statements)
        let rest = Array(results[setUp.count...])
        let moment = try Moment(rest[3])
        let refused = try checks.refusals(rest[4...], at: moment.time)
        let present = Dictionary(
            uniqueKeysWithValues: try rest[1].map(RememberedUser.init).map { ($0.index, $0.choices) })
        var changes = UserTopicsChanges(at: moment)
        let outcomes = batch.enumerated().map { index, pending in
            Result { () throws(TopicsPatch.Refusal) in
                if refused.contains(index) { throw .credentialEnded }
                return changes.apply(pending, to: present[index] ?? TopicChoices())
            }
            .mapError { $0 as any Error }
        }
        try await write(changes, firstPage: rest[2], in: app, transaction)
        return outcomes
    }

    /// Writes page by page; the last page together with the users and the events.
    private func write(
        _ changes: UserTopicsChanges, firstPage: PostgresResult, in app: AppNumber, _ transaction: PostgresTransaction
    ) async throws {
        let users = Array(changes.choices.keys)
        guard !users.isEmpty else {
            try await transaction.commit()
            return
        }
        var page = firstPage
        while true {
            let locked = try LockedPage(page, limit: Self.pageMax)
            var write = ChangeSet(in: app, at: changes.moment.time)
            for before in locked.installations {
                if let after = changes.merged(into: before.installation) { write.change(before, to: after) }
            }
            guard let last = locked.last else {
                write.record([], changes.events)
                let own = changes.choices.map { (UserDigest.sha256($0), $1) }
                try await transaction.commit(
                    write, at: changes.moment, after: [TopicChoiceStatements.write(own, in: app)])
                return
            }
            let results = try await transaction.execute(
                write.statements(at: changes.moment) + [lock(users, after: last, in: app)])
            guard let next = results.last else { throw StoreError.failed("a page of installations is missing") }
            page = next
        }
    }

    private func lock(_ users: [UserID], after installID: String, in app: AppNumber) -> PostgresStatement {
        PostgresStatement(
            TopicChoiceStatements.lockInstallations, app.rawValue, users.map(\.rawValue), installID,
            Self.pageMax)
    }
}

/// The changes of a batch.
private struct UserTopicsChanges {
    let moment: Moment
    /// All choices of each user whose choices change.
    private(set) var choices: [UserID: TopicChoices] = [:]
    private(set) var events: [TopicsEvent] = []

    init(at moment: Moment) {
        self.moment = moment
    }

    /// - Returns: the user's choices after the change.
    mutating func apply(_ pending: PendingUserTopics, to present: TopicChoices) -> TopicChoices {
        let (after, changed) = pending.patch.applied(to: present)
        guard !changed.isEmpty else { return present }
        choices[pending.userID] = after
        events.append(
            TopicsEvent(
                .user(pending.userID), .topicsPatched, by: pending.patch.actor, at: moment.time, topics: changed))
        return after
    }

    /// The installation with its owner's new choices; nil if nothing changes for it.
    func merged(into installation: Installation) -> Installation? {
        guard let inherited = installation.owner.flatMap({ choices[$0.userID] }) else { return nil }
        var after = installation
        after.topics = installation.topicChoices.over(inherited)
        return after == installation ? nil : after
    }
}

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

/// Writes a batch of changes of users' choices, all of one app (R15). The first transaction locks the users' buckets,
/// then their installations, and writes the users' choices, the events, and the merged choices of a page of
/// installations.
///
/// Each further page of a user with many installations, such as the user of kiosks, is a transaction of its own, which
/// merges the choices that the user has then. If it fails, the caller repeats the call. That goes through all pages,
/// though the user has made the choices already.
struct UserTopicsWriter: Sendable {
    private static let attemptsMax = 20
    static let pageMax: Int64 = 1_000

    let postgres: PostgresClient
    /// The most installations of one transaction.
    let pageMax: Int64

    /// - Throws: `PostgresError`.
    func write(
        _ batch: [PendingUserTopics], _ patience: LockPatience
    ) async throws -> [Result<TopicChoices, any Error>] {
        let (app, users) = (batch[0].app, batch.map(\.userID))
        var (outcomes, last) = try await postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            let checks = CredentialChecks(
                batch.map { ($0.patch.credential, nil, $0.patch.sessionTombstones) }, in: app)
            let page = try await lock(users, in: app, after: "", patience, checks.statements, transaction)
            let refused = try checks.refusals(page.more, at: page.moment.time)
            var changes = UserTopicsChanges(page)
            let outcomes = batch.enumerated().map { index, pending in
                Result { () throws(TopicsPatch.Refusal) in
                    if refused.contains(index) { throw .credentialEnded }
                    return changes.apply(pending)
                }
                .mapError { $0 as any Error }
            }
            try await transaction.commit(
                changes.changeSet(in: app), at: page.moment,
                after: changes.written.isEmpty
                    ? []
                    : [
                        TopicChoiceStatements.write(
                            app.rawValue, changes.written.map(\.userSHA256), changes.written.map(\.choices.literal))
                    ])
            return (outcomes, page.installations.last)
        }
        while let previous = last {
            last = try await postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
                let page = try await lock(users, in: app, after: previous, .alone, [], transaction)
                try await transaction.commit(UserTopicsChanges(page).changeSet(in: app), at: page.moment)
                return page.installations.last
            }
        }
        return outcomes
    }

    /// - Parameter more: statements that run under the locks.
    private func lock(
        _ users: [UserID], in app: AppNumber, after installID: String, _ patience: LockPatience,
        _ more: [PostgresStatement], _ transaction: PostgresTransaction
    ) async throws -> UserTopicsPage {
        let users = Dictionary(uniqueKeysWithValues: users.map { (UserDigest.sha256($0), $0) })
        let digests = Array(users.keys)
        let results = try await transaction.execute(
            [
                LockBuckets(users: digests, in: app).exclusive, GuardStatements.users(app.rawValue, digests),
                TopicChoiceStatements.lockInstallations(app.rawValue, users.values.map(\.rawValue), installID, pageMax),
                RegistrationStatements.now(),
            ] + more, patience)
        let remembered = try results[1].map(RememberedUser.init).compactMap { user in
            users[user.sha256].map { ($0, user.choices) }
        }
        return UserTopicsPage(
            choices: Dictionary(uniqueKeysWithValues: remembered),
            installations: try LockedPage(results[2], limit: pageMax), moment: try Moment(results[3]),
            more: results[4...])
    }
}

/// What a transaction has locked: users, and a page of their installations.
private struct UserTopicsPage {
    /// Of users with choices.
    let choices: [UserID: TopicChoices]
    let installations: LockedPage
    let moment: Moment
    let more: ArraySlice<PostgresResult>
}

/// The changes of a transaction.
private struct UserTopicsChanges {
    private let page: UserTopicsPage
    /// All choices of each user.
    private var choices: [UserID: TopicChoices]
    private var events: [TopicsEvent] = []
    /// Of the users whose choices change.
    private(set) var written: [(userSHA256: [UInt8], choices: TopicChoices)] = []

    init(_ page: UserTopicsPage) {
        (self.page, choices) = (page, page.choices)
    }

    /// - Returns: the user's choices after the change.
    mutating func apply(_ pending: PendingUserTopics) -> TopicChoices {
        let present = choices[pending.userID] ?? TopicChoices()
        let (after, changed) = pending.patch.applied(to: present)
        guard !changed.isEmpty else { return present }
        choices[pending.userID] = after
        written.append((UserDigest.sha256(pending.userID), after))
        events.append(
            TopicsEvent(
                .user(pending.userID), .topicsPatched, by: pending.patch.actor, at: page.moment.time, topics: changed))
        return after
    }

    func changeSet(in app: AppNumber) -> ChangeSet {
        var changes = ChangeSet(in: app, at: page.moment.time)
        for before in page.installations.installations {
            guard let owner = before.installation.owner else { continue }
            var after = before.installation
            after.topics = after.topicChoices.over(choices[owner.userID] ?? TopicChoices())
            if after != before.installation { changes.change(before, to: after) }
        }
        changes.record([], events)
        return changes
    }
}

import PostgresClient
import PushRegistry

/// Topics and choices in PostgreSQL. One lives on each event loop.
public struct PostgresTopicStore: TopicStore {
    private let resources: LoopResources
    private let installations: WriteCoalescer<PendingInstallationTopics>
    private let users: WriteCoalescer<PendingUserTopics>

    public init(_ resources: LoopResources) {
        self.init(resources, pageMax: UserTopicsWriter.pageMax)
    }

    init(_ resources: LoopResources, pageMax: Int64) {
        self.resources = resources
        installations = WriteCoalescer(
            resources, meters: WriteMeters("installation_topics"), transaction: PendingInstallationTopics.write)
        let ofUsers = UserTopicsWriter(postgres: resources.postgres, pageMax: pageMax)
        users = WriteCoalescer(resources, meters: WriteMeters("user_topics"), body: ofUsers.write)
    }

    private var postgres: PostgresClient { resources.postgres }

    /// Writes queued changes of choices until it is cancelled.
    public func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await installations.run() }
            group.addTask { await users.run() }
        }
    }

    // MARK: - Catalogue

    public func put(
        _ slug: TopicSlug, _ content: Topic.Content, in app: AppNumber, recording entry: AuditEntry
    ) async throws -> (topic: Topic, isNew: Bool) {
        try await changing(app) { transaction in
            let found = try await transaction.execute([
                TopicCatalogueStatements.find(app.rawValue, slug.rawValue),
                TopicCatalogueStatements.count(app.rawValue),
            ])
            let isNew = found[0].isEmpty
            guard try !isNew || found[1][0].decode(0, as: Int64.self) < TopicCatalogue.topicsMax else {
                throw TopicRefusal.tooMany
            }
            let write = isNew ? TopicCatalogueStatements.create : TopicCatalogueStatements.replace
            let written = try await transaction.commit(after: [
                TopicCatalogueStatements.values(slug, content, in: app, write), AuditStatements.add(entry, of: app),
            ])
            return (Topic(number: TopicNumber(try written[0][0].decode(0)), slug: slug, content: content), isNew)
        }
    }

    public func delete(_ slug: TopicSlug, of app: AppNumber, recording entry: AuditEntry) async throws -> Bool {
        try await changing(app) { transaction in
            let found = try await transaction.execute([
                TopicCatalogueStatements.isUsed(app.rawValue, slug.rawValue),
                TopicCatalogueStatements.find(app.rawValue, slug.rawValue),
            ])
            guard found[0].isEmpty else { throw TopicRefusal.inUse }
            guard let number = try found[1].first?.decode(0, as: Int32.self) else { return false }
            try await transaction.commit(after: [
                TopicCatalogueStatements.noteDeleted(app.rawValue, number),
                TopicCatalogueStatements.delete(app.rawValue, number),
                AuditStatements.add(entry, of: app),
            ])
            return true
        }
    }

    /// Runs a transaction that has locked the app, so the changes of one app's topics run one after another, numbers
    /// ascend, and a saved filter cannot name a topic that is being deleted. They may wait longer for a lock than a
    /// batch of registrations. A change of the directory also locks its version, so the last round trip writes it.
    private func changing<Value>(
        _ app: AppNumber, _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        try await storing(refusing: TopicRefusal.self) {
            try await postgres.withTransaction { transaction in
                _ = try await transaction.execute([DirectoryStatements.lockApp(app.rawValue)], .alone)
                return try await body(transaction)
            }
        }
    }
}

// MARK: - Choices

extension PostgresTopicStore {
    public func topics(of installation: InstallationKey) async throws -> (topics: ResolvedTopics, owner: UserID?)? {
        try await resources.storing(installation.app) {
            let rows = try await postgres.read(
                TopicChoiceStatements.ofInstallation(installation.app.rawValue, installation.installID.rawValue))
            return try rows.first.map { row in
                var reader = ColumnReader(row)
                let owner = try reader.next(String?.self).map { try UserID($0) }
                return (ResolvedTopics(own: try reader.nextChoices(), merged: try reader.nextChoices()), owner)
            }
        }
    }

    public func choices(of user: UserID, in app: AppNumber) async throws -> TopicChoices {
        try await resources.storing(app) {
            let rows = try await postgres.read(TopicChoiceStatements.ofUser(app.rawValue, UserDigest.sha256(user)))
            return TopicChoices(codes: try rows.first?.decode(0, as: [Int32]?.self) ?? [])
        }
    }

    public func apply(
        _ patch: TopicsPatch, to installation: InstallationKey, for requester: Requester
    ) async throws -> ResolvedTopics {
        try await installations.write(
            PendingInstallationTopics(installation: installation, requester: requester, patch: patch))
    }

    public func apply(_ patch: TopicsPatch, to user: UserID, in app: AppNumber) async throws -> TopicChoices {
        try await users.write(PendingUserTopics(app: app, userID: user, patch: patch))
    }
}

/// A queued change of the choices on an installation.
struct PendingInstallationTopics: BatchedWrite {
    /// The choices after the change.
    typealias Outcome = ResolvedTopics

    let installation: InstallationKey
    let requester: Requester
    let patch: TopicsPatch

    var app: AppNumber { installation.app }
    var key: InstallID { installation.installID }
}

extension PendingInstallationTopics {
    /// Writes a batch of changes on installations, all of one app, in two round trips (R15).
    static func write(
        _ batch: [PendingInstallationTopics], _ patience: LockPatience, _ transaction: PostgresTransaction
    ) async throws -> [Result<ResolvedTopics, any Error>] {
        let (app, ids) = (batch[0].app, batch.map(\.key.rawValue))
        let checks = CredentialChecks(
            batch.map { ($0.patch.credential, $0.installation, $0.patch.sessionTombstones) }, in: app)
        let results = try await transaction.execute(
            [
                InstallationStatements.lock(app.rawValue, ids), RegistrationStatements.now(),
                TopicChoiceStatements.ofOwners(app.rawValue, ids),
            ] + checks.statements, patience)
        let moment = try Moment(results[1])
        let refused = try checks.refusals(results[3...], at: moment.time)
        let stored = try results[0].map { try InstallationColumns.decode($0) }
        let present = Dictionary(uniqueKeysWithValues: stored.map { ($0.installation.key, $0) })
        let inherited = try inherited(results[2])
        var changes = ChangeSet(in: app, at: moment.time)
        let outcomes = batch.enumerated().map { index, pending in
            Result { () throws(TopicsPatch.Refusal) in
                if refused.contains(index) { throw .credentialEnded }
                let found = present[pending.installation]
                let outcome = try pending.patch.outcome(
                    on: found?.installation, for: pending.requester,
                    inheriting: inherited[pending.key] ?? TopicChoices(),
                    at: moment.time)
                if let change = outcome.change, let found {
                    changes.change(found, to: change.after)
                    changes.record([], [change.event].compactMap(\.self))
                }
                return ResolvedTopics(outcome.change?.after ?? outcome.present)
            }
            .mapError { $0 as any Error }
        }
        try await transaction.commit(changes, at: moment)
        return outcomes
    }

    private static func inherited(_ rows: PostgresResult) throws -> [InstallID: TopicChoices] {
        try Dictionary(
            rows.map { row in
                (try InstallID(row.decode(0)), TopicChoices(codes: try row.decode(1, as: [Int32]?.self) ?? []))
            }, uniquingKeysWith: { first, _ in first })
    }
}

extension ResolvedTopics {
    fileprivate init(_ installation: Installation) {
        self.init(own: installation.topicChoices, merged: installation.topics)
    }
}

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
        let ofInstallations = InstallationTopicsWriter(postgres: resources.postgres)
        installations = WriteCoalescer(
            resources, meters: WriteMeters("installation_topics"), body: ofInstallations.write)
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
        do {
            return try await postgres.withTransaction { transaction in
                let lock = DirectoryStatements.lockApp(app.rawValue)
                _ = try await transaction.execute(LockTimeoutStatements.of(.alone) + [lock])
                return try await body(transaction)
            }
        } catch let refusal as TopicRefusal {
            throw refusal
        } catch {
            throw StoreError(error)
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

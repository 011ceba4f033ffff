import PostgresClient
import PushRegistry

/// Topics and choices in PostgreSQL. One lives on each event loop.
public struct PostgresTopicStore: TopicStore {
    let resources: LoopResources

    public init(_ resources: LoopResources) {
        self.resources = resources
    }

    private var postgres: PostgresClient { resources.postgres }

    // MARK: - Catalogue

    public func put(
        _ slug: TopicSlug, _ content: Topic.Content, in app: AppNumber
    ) async throws -> (topic: Topic, isNew: Bool) {
        try await changing(app) { transaction in
            let found = try await transaction.execute([
                TopicCatalogueStatements.values(slug, content, in: app, TopicCatalogueStatements.replace),
                PostgresStatement(TopicCatalogueStatements.count, app.rawValue),
            ])
            if let row = found[0].first {
                try await transaction.commit()
                return (Topic(number: TopicNumber(try row.decode(0)), slug: slug, content: content), false)
            }
            guard try found[1][0].decode(0, as: Int64.self) < TopicCatalogue.topicsMax else {
                throw TopicRefusal.tooMany
            }
            let created = try await transaction.commit(after: [
                TopicCatalogueStatements.values(slug, content, in: app, TopicCatalogueStatements.create)
            ])
            return (Topic(number: TopicNumber(try created[0][0].decode(0)), slug: slug, content: content), true)
        }
    }

    public func delete(_ slug: TopicSlug, of app: AppNumber) async throws -> Bool {
        try await changing(app) { transaction in
            let used = PostgresStatement(TopicCatalogueStatements.isUsed, app.rawValue, slug.rawValue)
            guard try await transaction.execute([used])[0].isEmpty else { throw TopicRefusal.inUse }
            let deletion = PostgresStatement(TopicCatalogueStatements.delete, app.rawValue, slug.rawValue)
            guard let row = try await transaction.execute([deletion])[0].first else { return false }
            try await transaction.commit(after: [
                PostgresStatement(TopicCatalogueStatements.noteDeleted, app.rawValue, try row.decode(0, as: Int32.self))
            ])
            return true
        }
    }

    /// Runs a transaction that has locked the app. Its changes wait for each other, and longer than a batch of
    /// registrations may.
    private func changing<Value>(
        _ app: AppNumber, _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        do {
            return try await postgres.withTransaction { transaction in
                let lock = PostgresStatement(TopicCatalogueStatements.lock, app.rawValue)
                _ = try await transaction.execute(LockTimeout.statements(.alone) + [lock])
                return try await body(transaction)
            }
        } catch let refusal as TopicRefusal {
            throw refusal
        } catch {
            throw StoreError(error)
        }
    }
}

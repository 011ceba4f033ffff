import EmbeddedPostgres
import EventLoop
import Logging
import Migrations
import PostgresClient

/// SQL on the service's database: to check what the service has written, and to simulate the passage of
/// time.
public struct TestDatabase: Sendable {
    private let client: PostgresClient

    /// Lends sessions on a database. They are opened on demand.
    ///
    /// - Parameters:
    ///   - url: for libpq; usually with the service's role.
    ///   - sessionsMin: opened at once, if the server accepts them.
    public static func with<Value: Sendable>(
        _ url: String, sessionsMin: Int = 0, sessionsMax: Int = 8, _ body: (TestDatabase) async throws -> Value
    ) async throws -> Value {
        let loop = EventLoop(name: "test-sql")
        defer { loop.stop() }
        var logger = Logger(label: "test-sql")
        logger.logLevel = .critical
        let client = PostgresClient(
            try PostgresConfiguration(url, applicationName: "test"), on: loop,
            limits: .init(connectionsMin: sessionsMin, connectionsMax: sessionsMax), logger: logger)
        // It is cancelled at the end of this scope.
        async let _ = client.run()
        return try await body(TestDatabase(client: client))
    }

    public func rows(_ statement: PostgresStatement) async throws -> PostgresResult {
        try await client.execute(statement)
    }

    /// The first column of every row.
    public func column<Value: PostgresDecodable>(
        _ statement: PostgresStatement, as type: Value.Type = Value.self
    ) async throws -> [Value] {
        try await rows(statement).map { try $0.decode(0) }
    }

    public func count(_ statement: PostgresStatement) async throws -> Int {
        try await column(statement, as: Int64.self).first.map { Int($0) } ?? -1
    }

    /// Lends a transaction, to block the service by its locks.
    public func withTransaction<Value>(_ body: (PostgresTransaction) async throws -> Value) async throws -> Value {
        try await client.withTransaction { try await body($0) }
    }
}

extension DatabaseTemplate {
    /// A database with all migrations. Each copy has an epoch of its own, as after a start of the service.
    public static let migrated = DatabaseTemplate(
        name: "migrated", completion: "SELECT adopt_restored_events();", prepare: migrateDatabase)
}

/// Applies all migrations to an empty database.
public func migrateDatabase(_ url: String) async throws {
    var logger = Logger(label: "migrations")
    logger.logLevel = .critical
    let migrations = migrationFiles.map { file in
        Migration(
            version: Int(file.name.prefix(4)) ?? 0, name: String(file.name.drop { $0 != "_" }.dropFirst()), sql: file.sql)
    }
    _ = try await Migrator(migrations, logger: logger).migrate(PostgresConfiguration(url))
}

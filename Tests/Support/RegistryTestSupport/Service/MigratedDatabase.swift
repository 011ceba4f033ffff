import EmbeddedPostgres
import Logging
import Migrations
import PostgresClient

extension DatabaseTemplate {
    /// A database with all migrations. Each copy has an epoch of its own, as after a start of the service.
    public static let migrated = DatabaseTemplate(
        name: "migrated", completion: "SELECT adopt_restored_events();", prepare: migrateDatabase)
}

/// Applies all migrations to an empty database.
public func migrateDatabase(_ url: String) async throws {
    var logger = Logger(label: "migrations")
    logger.logLevel = .critical
    let migrations = migrationFiles.enumerated().map { index, file in
        Migration(version: index + 1, name: String(file.name.drop { $0 != "_" }.dropFirst()), sql: file.sql)
    }
    _ = try await Migrator(migrations, logger: logger).migrate(PostgresConfiguration(url))
}

import ArgumentParser
import Logging
import PostgresClient
import RegistryStore

struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring the database to this binary's schema.",
        discussion: """
            Applies what is missing, in order, each migration in a transaction. `serve` does the same at its start; \
            run this alone if the service's role may not change the schema, or before an upgrade.

            Exit codes: 0 the schema is up to date, or with --dry-run was looked at; 1 a migration failed, or the \
            database's migrations are not those of this binary: read the message, nothing was applied halfway; 2 the \
            database could not be looked at: run it again; 64 a mistake in the command line or a setting.
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Only say what would be done.")
    var dryRun = false

    func run() async throws {
        let settings = try await common.settings()
        let logger = ProcessLogging.start(settings)
        try await lookingAtDatabase {
            try await Database.withAttached(settings, logger: logger) { database in
                if dryRun { try await show(database) } else { try await migrate(database) }
            }
        }
    }

    private func migrate(_ database: Database) async throws {
        let applied = try await database.migrate()
        for migration in applied { print("applied \(migration.version) \(migration.name)") }
        if applied.isEmpty { print("the schema is up to date") }
        if try await RestoredEvents.adopt(database.configuration) {
            print("the database was restored from a dump: readers of the change feed begin anew")
        }
    }

    private func show(_ database: Database) async throws {
        let status = try await database.migrationStatus()
        for migration in status.pending { print("pending \(migration.version) \(migration.name)") }
        for record in status.unknown { print("newer than this binary: \(record.version) \(record.name)") }
        if status.isUpToDate { print("the schema is up to date") }
    }
}

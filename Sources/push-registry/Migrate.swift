import ArgumentParser
import Logging
import PostgresClient
import RegistryStore

struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring the database to this binary's schema.",
        discussion: """
            Applies what is missing, in order, each migration in a transaction. `serve` does the same at its start; run \
            this alone where the service's role may not change the schema, or before an upgrade.
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Only say what would be done.")
    var dryRun = false

    func run() async throws {
        let settings = try await common.settings()
        let logger = ProcessLogging.start(settings)
        let database = try await Database.attach(settings, logger: logger)
        do {
            if dryRun { try await show(database) } else { try await migrate(database) }
            try await database.stop()
        } catch {
            try await database.stop()
            throw error
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

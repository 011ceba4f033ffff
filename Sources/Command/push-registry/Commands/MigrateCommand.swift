import ArgumentParser
import PostgresClient
import RegistryJobs
import RegistryStore

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Update the database to this binary's schema.",
        usage: "push-registry migrate [--dry-run] [<options>]",
        discussion: """
            Applies the missing migrations in order, each in a transaction. `serve` does the same at its start; no \
            other command changes the schema. Run this separately if the service's role must not change the schema, \
            or before an upgrade.

            Then it identifies FCM tokens by their Firebase installation id that an earlier version identified by \
            their whole text, in batches beside the service, and prints how many. You may kill it at any time; run it \
            again, or let the night job do the rest.

            On a Citus cluster, the command lists the tables that are not distributed, such as those of a migration. \
            Then stop the services and run `push-registry distribute`.

            Exit codes: 0 the schema is up to date, or --dry-run succeeded; 1 a migration failed and was rolled back, \
            or the database has other migrations than this binary: read the message; 2 the database cannot be reached: \
            run it again; 64 invalid arguments or settings.
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Only print the missing migrations.")
    var dryRun = false

    func run() async throws {
        let settings = try await common.settings()
        try await exitingIfUnreachable {
            try await Database.withAttached(settings, checksSchema: false) { database in
                if dryRun { try await show(database) } else { try await migrate(database) }
            }
        }
    }

    private func migrate(_ database: Database) async throws {
        let applied = try await database.migrate()
        for migration in applied { print("applied \(migration.version) \(migration.name)") }
        if applied.isEmpty { print("the schema is up to date") }
        if try await RestoredEvents.adopt(database.configuration) {
            print(RestoredEvents.notice)
        }
        try await readdress(database)
        try await showMissingTables(database)
    }

    private func readdress(_ database: Database) async throws {
        let line = ProgressLine()
        defer { line.clear() }
        let counts = try await Readdressing.run(database.configuration) { line.show("tokens \($0)/\($1)") }
        line.clear()
        guard counts.tokens + counts.superseded > 0 else { return }
        print("\(counts.tokens) tokens are identified by their addresses")
        print("\(counts.superseded) installations are superseded by another spelling of their tokens")
    }

    private func show(_ database: Database) async throws {
        let status = try await database.migrationStatus()
        for migration in status.pending { print("pending \(migration.version) \(migration.name)") }
        for record in status.unknown { print("newer than this binary: \(record.version) \(record.name)") }
        if status.isUpToDate { print("the schema is up to date") }
        try await showMissingTables(database)
    }

    private func showMissingTables(_ database: Database) async throws {
        let tables = try await Distribution.missingTables(in: database.configuration) ?? []
        guard !tables.isEmpty else { return }
        print("not distributed: \(tables.joined(separator: ", "))")
        print("stop all services, run push-registry distribute, and start the services again")
    }
}

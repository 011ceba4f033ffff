import EmbeddedPostgres
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("The old version serves and starts on the schema of a newer one")
struct UpgradeTests {
    /// Changes that a newer version may make: new tables, and optional columns.
    private static let newerMigration: [PostgresStatement] = [
        "ALTER TABLE installation ADD COLUMN nickname text",
        "ALTER TABLE settings_snapshot ADD COLUMN nickname text",
        "ALTER TABLE token_event ADD COLUMN nickname text",
        "ALTER TABLE app ADD COLUMN nickname text",
        "ALTER TABLE api_key ADD COLUMN nickname text NOT NULL DEFAULT ''",
        "CREATE TABLE nickname (name text PRIMARY KEY)",
        "INSERT INTO schema_migration (version, name, checksum) VALUES (9999, 'add_nickname', '\\x00')",
    ]

    @Test func oldVersion_continues_whenTheSchemaIsUpgraded() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            _ = try await exercise(app, "before")
            for statement in Self.newerMigration { _ = try await registry.database.rows(statement) }
            #expect(try await exercise(app, "after") == [201, 200, 200, 200, 200, 200, 200, 204])
            #expect(try await registry.send("GET", "/readyz").status == 200)
        }
    }

    /// A dump of an older version is restored under a running service.
    @Test func service_isNotReady_whenTheDatabaseLacksMigrations() async throws {
        try await withRegistry { registry in
            _ = try await registry.database.rows(
                "DELETE FROM schema_migration WHERE version = (SELECT max(version) FROM schema_migration)")
            let response = try await registry.send("GET", "/readyz")
            #expect(response.status == 503)
            #expect(response.json["obstacles"][0].string?.contains("push-registry migrate") == true, "\(response.text)")
        }
    }

    /// PostgreSQL warns at each connection, before a query is sent.
    @Test func warningAboutAnUpgradedSystem_isALineOfTheLog() async throws {
        try await withRegistry { registry in
            let name = try await registry.database.rows("SELECT current_database()::text")[0].decode(0, as: String.self)
            let superuser = try PostgresConfiguration(registry.cluster.superuserConnectionString)
            try await PostgresSession.withSession(superuser) { session in
                _ = try session.execute("UPDATE pg_database SET datcollversion = '0' WHERE datname = \(name)")
            }
            try await RunningService.with(databaseURL: registry.cluster.connectionString) { service in
                try await eventually("the warning is logged") { service.command.log.contains("collation version") }
                let lines = service.command.log.split(separator: "\n").filter { $0.contains("collation") }
                #expect(lines.allSatisfy { $0.hasPrefix("{") }, "\(lines)")
            }
        }
    }

    @Test func oldVersion_startsAgain_whenTheSchemaIsNewer() async throws {
        try await withRegistry { registry in
            for statement in Self.newerMigration { _ = try await registry.database.rows(statement) }
            try await registry.withOtherService { restarted in
                let app = try await RegistryApp.make(in: restarted)
                #expect(try await exercise(app, "phone") == [201, 200, 200, 200, 200, 200, 200, 204])
            }
            for command in ["migrate", "verify"] { #expect(try await registry.run([command]).status == 0) }
        }
    }

    /// The statuses of one call of each kind.
    private func exercise(_ app: RegistryApp, _ installID: String) async throws -> [Int] {
        let path = "/installations/\(installID)"
        return [
            try await app.put(installID, as: "alice").status,
            try await app.put(installID, as: "bob").status,
            try await app.get(installID).status,
            try await app.send("GET", path + "/history").status,
            try await app.send("GET", path + "/snapshots").status,
            try await app.send("POST", path + "/logout", [:], fields: [("X-User-Id", "bob")]).status,
            try await app.send("POST", "/audience/count", ["filter": [:]], by: .role(.sender)).status,
            try await app.delete(installID).status,
        ]
    }
}

import EmbeddedPostgres
import Foundation
import Logging
import PostgresClient
import RegistryTestSupport
import Testing

/// Executes the SQL of the page Security.
@Suite("The service runs with few rights in the database")
struct LeastPrivilegeTests {
    /// The statements of each SQL block of the page.
    private func blocks() throws -> [[String]] {
        // The cluster already has a role and a database of these names.
        let page = try documentationPage("Security").replacing("push_registry", with: "registry")
        return page.matches(of: /```sql\n([^`]*)```/).map { block in
            block.1.split(separator: ";").map { String($0) + ";" }.filter { $0.contains(/[A-Z]/) }
        }
    }

    private func run(_ statements: [String], _ connectionString: String) async throws {
        try await PostgresSession.withSession(try PostgresConfiguration(connectionString)) { session in
            for statement in statements { try session.run(script: statement) }
        }
    }

    /// Later keywords of libpq override earlier ones.
    private func url(_ cluster: EmbeddedPostgres, as role: String) -> String {
        cluster.superuserConnectionString + " dbname=registry user=\(role)"
    }

    private func withPreparedCluster(_ body: (EmbeddedPostgres) async throws -> Void) async throws {
        var logger = Logger(label: "cluster")
        logger.logLevel = .critical
        try await ThrowawayCluster.withDatabase(logger: logger) { cluster in
            let blocks = try blocks()
            try #require(blocks.count == 3)
            try await run(blocks[0], cluster.superuserConnectionString)
            let owner = url(cluster, as: "registry_owner")
            try await run(blocks[1], owner)
            let migration = try await RegistryCommand.run(
                ["migrate"], environment: ["PUSH_REGISTRY_DATABASE_URL": owner])
            #expect(migration.status == 0, "\(migration.log)")
            try await run(blocks[2], owner)
            try await body(cluster)
        }
    }

    @Test func service_works_withTheRightsOfThePage() async throws {
        try await withPreparedCluster { cluster in
            try await RunningService.with(databaseURL: url(cluster, as: "registry")) { service in
                let app = "/v1/apps/com.example.mail"
                let user = [("X-User-Id", "alice"), ("X-Session-Id", "s-1")]
                let calls: [(method: String, path: String, body: JSON?)] = [
                    ("PUT", app, [:]), ("POST", app + "/keys", ["name": "k", "roles": ["sender"]]),
                    ("PUT", app + "/installations/phone", SampleRegistration.make("phone")),
                    ("POST", app + "/feedback", [["installId": "phone", "reason": "BadDeviceToken"]]),
                    ("POST", app + "/audience/count", ["filter": ["locale": "de"], "include": "all"]),
                    ("POST", app + "/audience/export", ["filter": [:], "include": "all"]),
                    ("PUT", app + "/segments/german", ["filter": ["locale": "de"]]), ("GET", app + "/changes", nil),
                    ("POST", app + "/installations/phone/logout", nil), ("DELETE", app + "/sessions/s-1", nil),
                    ("DELETE", app + "/users/alice", nil), ("DELETE", app + "/installations/phone", nil),
                    ("DELETE", app + "/segments/german", nil), ("GET", app + "/audit", nil), ("GET", "/readyz", nil),
                    ("DELETE", app + "?confirm=com.example.mail", nil),
                ]
                for call in calls {
                    let named = call.path.contains("/installations/") && call.method != "DELETE" ? user : []
                    let request = HTTPRequest.make(
                        call.method, call.path, call.body, key: RunningService.adminKey, fields: named)
                    let response = try await service.client.response(to: request)
                    #expect((200..<300).contains(response.status), "\(call.method) \(call.path): \(response.text)")
                }
                try await eventually("the app is gone") {
                    let get = HTTPRequest.make("GET", app, key: RunningService.adminKey)
                    return try await service.client.response(to: get).status == 404
                }
            }
        }
    }

    /// The file's registry is newer than this one.
    @Test func commands_needNoMoreThanTheService_andImportGenerationsAboveItsOwn() async throws {
        try await withPreparedCluster { cluster in
            let environment = ["PUSH_REGISTRY_DATABASE_URL": url(cluster, as: "registry")]
            _ = try await RegistryCommand.run(["apps", "create", "com.example.mail"], environment: environment)
            let generation = Int64(Date().timeIntervalSince1970 * 1_000_000)
            let line = #"{"installId": "phone", "provider": "fcm", "token": "t", "generation": \#(generation)}"#
            let file = URL(filePath: cluster.directory).appending(path: "generations.ndjson")
            try Data(line.utf8).write(to: file)
            let run = try await RegistryCommand.run(
                ["import", file.path, "--app", "com.example.mail"], environment: environment)
            #expect(run.status == 0, "\(run.output) \(run.log)")
            let found = try await PostgresSession.withSession(
                try PostgresConfiguration(url(cluster, as: "registry"))
            ) { try $0.execute("SELECT generation FROM installation")[0].decode(0, as: Int64.self) }
            #expect(found > generation)
            for command in ["verify", "rebuild-rollup"] {
                let run = try await RegistryCommand.run([command], environment: environment)
                #expect(run.status == 0, "\(run.output) \(run.log)")
            }
        }
    }

    @Test func service_isRefused_theOwnersStatements() async throws {
        let statements = [
            "CREATE TABLE mine (id integer)", "ALTER TABLE installation ADD COLUMN mine integer",
            "DROP TABLE token_event",
            "TRUNCATE installation", "DELETE FROM schema_migration", "CREATE TEMPORARY TABLE mine (id integer)",
        ]
        try await withPreparedCluster { cluster in
            for statement in statements {
                await #expect(throws: PostgresError.self, "\(statement)") {
                    try await run([statement], url(cluster, as: "registry"))
                }
            }
            // A caller could make a function with another role's rights use the caller's own tables.
            try await TestDatabase.with(url(cluster, as: "registry"), sessionsMax: 1) { database in
                let functions = try await database.count(
                    "SELECT count(*) FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace")
                #expect(functions == 0)
            }
        }
    }

    /// Each command has something to create.
    @Test(
        arguments: zip(
            ["cleanup", "migrate"],
            [
                """
                DO $$ DECLARE month regclass; BEGIN
                    FOR month IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'token_event'::regclass LOOP
                        EXECUTE 'DROP TABLE ' || month;
                    END LOOP;
                END $$
                """, "DELETE FROM schema_migration WHERE version > 1",
            ]))
    func ownersCommand_asksForTheOwner_whenItRunsAsTheService(_ command: String, missing: String) async throws {
        try await withPreparedCluster { cluster in
            try await run([missing], url(cluster, as: "registry_owner"))
            let run = try await RegistryCommand.run(
                [command], environment: ["PUSH_REGISTRY_DATABASE_URL": url(cluster, as: "registry")])
            #expect(run.status != 0)
            #expect(run.log.contains("the role that owns the schema (registry_owner)"), "\(run.log)")
            #expect(!run.log.contains("cannot be reached"))
        }
    }
}

import EmbeddedPostgres
import Logging
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite(
        "distribute completes what an interruption or an upgrade has left", .serialized,
        .enabled(if: CitusCluster.isWanted))
    struct DistributeCommandTests {
        private static let firstTable = "installation"
        /// Stands for a table that a migration has created.
        private static let lastTable = "notification_dedup"

        /// The command was killed after it had distributed the first table.
        @Test func rowsOnTheCoordinator_areDeletedByTheNextRun_whenARunWasInterrupted() async throws {
            try await withCluster { coordinator in
                let app = try await withService(coordinator) { registry in
                    let app = try await RegistryApp.make(in: registry)
                    #expect(try await app.put("phone", as: "alice").status == 201)
                    return app
                }
                try await TestDatabase.with(coordinator.connectionString) { database in
                    _ = try await database.rows(
                        """
                        SELECT create_distributed_table(\(Self.firstTable)::text::regclass, 'app_id',
                            colocate_with => 'none', shard_count => 4)
                        """)
                    #expect(try await tablesWithLocalRows(database) == [Self.firstTable])
                }
                let plan = try await plan(coordinator)
                #expect(plan["localCopies"] == [.string(Self.firstTable)] && plan["isDone"] == false)
                try await expectSuccess("distribute", on: coordinator)
                let tables = try await TestDatabase.with(coordinator.connectionString) {
                    try await tablesWithLocalRows($0)
                }
                #expect(tables.isEmpty)
                let again = try await self.plan(coordinator)
                #expect(again["isDone"] == true)
                try await expectServed(app, coordinator)
                try await expectSuccess("verify", on: coordinator)
            }
        }

        /// The command was killed after it had distributed the last table.
        @Test func appsGetTheirStates_byTheNextRun_whenARunWasInterrupted() async throws {
            try await withCluster { coordinator in
                let app = try await withService(coordinator) { registry in
                    let app = try await RegistryApp.make(in: registry)
                    #expect(try await app.put("phone", as: "alice").status == 201)
                    return app
                }
                try await expectSuccess("distribute", "--shards", "4", on: coordinator)
                try await TestDatabase.with(coordinator.connectionString) { database in
                    _ = try await database.rows("DELETE FROM rollup_state")
                }
                let plan = try await plan(coordinator)
                #expect(plan["isDone"] == true)
                let again = try await run("distribute", on: coordinator)
                #expect(again.status == 0 && again.output.contains("all tables are distributed"), "\(again)")
                let states = try await TestDatabase.with(coordinator.connectionString) { database in
                    try await database.count("SELECT count(*) FROM rollup_state")
                }
                #expect(states == 1)
                try await expectServed(app, coordinator)
            }
        }

        @Test func tableOfAnUpgrade_isReported_untilItIsDistributed() async throws {
            try await withCluster { coordinator in
                try await expectSuccess("migrate", on: coordinator)
                try await expectSuccess("distribute", "--shards", "4", on: coordinator)
                try await expectSuccess("verify", on: coordinator)
                try await TestDatabase.with(coordinator.connectionString) { database in
                    _ = try await database.rows("SELECT undistribute_table(\(Self.lastTable)::text::regclass)")
                }
                for arguments in [["migrate"], ["migrate", "--dry-run"]] {
                    let migrated = try await run(arguments, on: coordinator)
                    #expect(migrated.status == 0 && migrated.output.contains("not distributed: \(Self.lastTable)\n"))
                    #expect(migrated.output.contains("push-registry distribute"))
                }
                let verified = try await run("verify", on: coordinator)
                #expect(verified.status == 1 && verified.output.contains("BROKEN  distribution"), "\(verified)")
                #expect(verified.output.contains("1: \(Self.lastTable)\n"))
                try await withService(coordinator) { registry in
                    #expect(registry.service.command.log.contains("tables are not distributed"))
                    let refused = try await run("distribute", on: coordinator)
                    #expect(refused.status != 0 && refused.log.contains("services are connected"))
                    let plan = try await plan(coordinator)
                    #expect((plan["sessions"].integer ?? 0) > 0)
                }
                try await expectSuccess("distribute", on: coordinator)
                let migrated = try await run("migrate", on: coordinator)
                #expect(migrated.status == 0 && !migrated.output.contains("distributed"))
                try await expectSuccess("verify", on: coordinator)
            }
        }

        // MARK: Parts

        private func withCluster(_ body: (_ coordinator: EmbeddedPostgres) async throws -> Void) async throws {
            var logger = Logger(label: "cluster")
            logger.logLevel = .critical
            try await CitusCluster.with(logger: logger) { coordinator, _ in try await body(coordinator) }
        }

        /// Lends a service and kills it afterwards, with its sessions.
        private func withService<Value: Sendable>(
            _ coordinator: EmbeddedPostgres, _ body: (Registry) async throws -> Value
        ) async throws -> Value {
            let url = coordinator.connectionString
            return try await RunningService.with(databaseURL: url) { service in
                try await TestDatabase.with(url) { database in
                    try await body(Registry(cluster: coordinator, service: service, database: database))
                }
            }
        }

        /// - Parameter app: has a phone, and keys that another service made.
        private func expectServed(_ app: RegistryApp, _ coordinator: EmbeddedPostgres) async throws {
            try await withService(coordinator) { registry in
                for (phone, status) in [("phone", 200), ("new", 201)] {
                    let response = try await registry.send(
                        "PUT", app.path + "/installations/\(phone)", SampleRegistration.make(phone),
                        key: app.key(.service),
                        fields: [("X-User-Id", "alice")])
                    #expect(response.status == status, "\(response.text)")
                }
            }
        }

        private func tablesWithLocalRows(_ database: TestDatabase) async throws -> [String] {
            try await database.column(
                "SELECT logicalrelid::text FROM pg_dist_partition WHERE pg_relation_size(logicalrelid) > 0")
        }

        private func plan(_ coordinator: EmbeddedPostgres) async throws -> JSON {
            let result = try await run("distribute", "--dry-run", "--json", on: coordinator)
            try #require(result.status == 0, "\(result.log)")
            return try JSON(parsing: Array(result.output.utf8))
        }

        private func expectSuccess(_ arguments: String..., on coordinator: EmbeddedPostgres) async throws {
            let result = try await run(arguments, on: coordinator)
            #expect(result.status == 0, "\(result)")
        }

        private func run(
            _ arguments: String..., on coordinator: EmbeddedPostgres
        ) async throws -> (status: Int32, output: String, log: String) {
            try await run(arguments, on: coordinator)
        }

        private func run(
            _ arguments: [String], on coordinator: EmbeddedPostgres
        ) async throws -> (status: Int32, output: String, log: String) {
            try await RegistryCommand.run(arguments + ["--database-url", coordinator.connectionString])
        }
    }
}

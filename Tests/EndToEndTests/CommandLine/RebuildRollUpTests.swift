import EmbeddedPostgres
import Logging
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("rebuild-rollup corrects what verify finds")
struct RebuildRollUpTests {
    @Test func report_namesInstallationsInAnotherCell() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            #expect(try await app.put("phone", by: .role(.client)).status == 201)
            try await app.update("phone", "system_version = '99'")
            let environment = ["PUSH_REGISTRY_DATABASE_URL": registry.cluster.connectionString]
            for output in ["corrected the cells of 1 installations\n", "the roll-up was correct\n"] {
                let rebuilt = try await RegistryCommand.run(["rebuild-rollup"], environment: environment)
                #expect(rebuilt.status == 0 && rebuilt.output == output)
            }
        }
    }

    @Test func injectedError_isFound_andCorrected() async throws {
        var logger = Logger(label: "cluster")
        logger.logLevel = .critical
        try await ThrowawayCluster.withDatabase(logger: logger) { cluster in
            let environment = ["PUSH_REGISTRY_DATABASE_URL": cluster.connectionString]
            #expect(try await RegistryCommand.run(["migrate"], environment: environment).status == 0)
            let fresh = try await RegistryCommand.run(["rebuild-rollup"], environment: environment)
            #expect(fresh.status == 0 && fresh.output == "the roll-up was correct\n")
            try await PostgresSession.withSession(PostgresConfiguration(cluster.connectionString)) { session in
                try session.run(
                    script: """
                        INSERT INTO app (identifier, policy) VALUES ('com.example.mail', '{}');
                        INSERT INTO rollup_cell (app_id, provider, authorization_status, locale_number, zone_number,
                            system_number, spelling_number, version_number, time_zone_offset)
                        SELECT id, 'apns', 'authorized', 0, 0, 0, 0, 0, 0 FROM app;
                        INSERT INTO rollup_cube (app_id, reachable, active, installations, cell)
                        SELECT app_id, 0, 0, 5, number FROM rollup_cell
                        """)
            }
            let broken = try await RegistryCommand.run(["verify"], environment: environment)
            #expect(broken.status == 1 && broken.output.contains("BROKEN  rollup-recount"))
            let rebuilt = try await RegistryCommand.run(["rebuild-rollup", "--json"], environment: environment)
            #expect(rebuilt.status == 0 && rebuilt.output.contains("\"correctedCells\" : 1"))
            #expect(rebuilt.log.isEmpty, "no progress where there is no terminal: \(rebuilt.log)")
            let intact = try await RegistryCommand.run(["verify"], environment: environment)
            #expect(intact.status == 0, "\(intact.output)")
        }
    }
}

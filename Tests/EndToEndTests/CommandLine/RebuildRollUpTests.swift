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
            for output in ["corrected the cells of 1 installations\n", "the roll-up was correct\n"] {
                let rebuilt = try await registry.run(["rebuild-rollup"])
                #expect(rebuilt.status == 0 && rebuilt.output == output)
            }
        }
    }

    @Test func injectedError_isFound_andCorrected() async throws {
        try await withRegistry { registry in
            let fresh = try await registry.run(["rebuild-rollup"])
            #expect(fresh.status == 0 && fresh.output == "the roll-up was correct\n")
            let statements: [PostgresStatement] = [
                "INSERT INTO app (identifier, policy) VALUES ('com.example.mail', '{}')",
                """
                INSERT INTO rollup_cell (app_id, provider, authorization_status, locale_number, zone_number,
                    system_number, spelling_number, version_number, time_zone_offset)
                SELECT id, 'apns', 'authorized', 0, 0, 0, 0, 0, 0 FROM app
                """,
                """
                INSERT INTO rollup_cube (app_id, reachable, active, installations, cell)
                SELECT app_id, 0, 0, 5, number FROM rollup_cell
                """,
            ]
            for statement in statements { _ = try await registry.database.rows(statement) }
            let broken = try await registry.run(["verify"])
            #expect(broken.status == 1 && broken.output.contains("BROKEN  rollup-recount"))
            let rebuilt = try await registry.run(["rebuild-rollup", "--json"])
            #expect(rebuilt.status == 0 && rebuilt.output.contains("\"correctedCells\" : 1"))
            #expect(rebuilt.log.isEmpty, "no progress where there is no terminal: \(rebuilt.log)")
            let intact = try await registry.run(["verify"])
            #expect(intact.status == 0, "\(intact.output)")
        }
    }
}

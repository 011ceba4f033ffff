import PostgresClient
import PushRegistry
import RegistryStore
import Testing

@Suite("verify finds a roll-up that is wrong, and rebuilding it corrects it beside writers", .timeLimit(.minutes(3)))
struct RollUpRepairTests {
    private struct Damage {
        let done: PostgresStatement
        let told: Set<String>

        init(_ told: Set<String>, _ done: PostgresStatement) {
            self.told = told
            self.done = done
        }
    }

    @Test func damage_isFound_andCorrected() async throws {
        try await TestStores.with { stores in
            for number in 10..<16 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
            try await stores.fold()
            _ = try await stores.sql("UPDATE installation SET system_version = '27' WHERE install_id < 'i13'")
            for damage in Self.damages {
                _ = try await stores.sql(damage.done)
                #expect(try await stores.brokenRollUp() == damage.told, "\(damage.done)")
                let report = try await RollUpRebuild(stores.configuration).run()
                #expect(report.cells + report.marginals > 0)
                try await stores.expectExact()
                #expect(try await stores.brokenRollUp().isEmpty, "\(damage.done)")
            }
            let report = try await RollUpRebuild(stores.configuration).run()
            #expect(report.cells == 0 && report.marginals == 0)
        }
    }

    @Test func missingTrigger_isFound() async throws {
        try await TestStores.with { stores in
            _ = try await stores.sql("ALTER TABLE installation DISABLE TRIGGER rollup_delete")
            #expect(try await stores.brokenRollUp() == ["rollup-triggers"])
        }
    }

    @Test func rebuild_corrects_whileOthersWriteAndFold() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        try await TestStores.with { stores in
            await RollUpWriter.write(stores, seed: seed, steps: 60)
            try await stores.fold()
            _ = try await stores.sql(
                "UPDATE rollup_cell SET installations = installations + 3 WHERE level IN (3, 10, 255)")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1..<5 {
                    group.addTask { await RollUpWriter.write(stores, seed: seed &+ UInt64(number), steps: 80) }
                }
                group.addTask { for _ in 0..<40 { try await stores.fold(9) } }
                for _ in 0..<2 { group.addTask { _ = try await RollUpRebuild(stores.configuration).run() } }
                try await group.waitForAll()
            }
            try await stores.expectExact()
            #expect(try await stores.brokenRollUp().isEmpty)
        }
    }

    @Test func zones_areLearnedAnew_whenTheyComeAndGo() async throws {
        try await TestStores.with { stores in
            for number in 10..<16 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
            _ = try await stores.sql("UPDATE installation SET time_zone_offset = right(install_id, 1)::integer")
            try await stores.fold()
            _ = try await stores.sql("UPDATE installation SET time_zone_id = 'Mars/Olympus' WHERE install_id < 'i13'")
            try await stores.fold()
            // As if the time zone database had lost a planet and gained a city.
            _ = try await stores.sql("INSERT INTO known_time_zone VALUES ('Mars/Olympus')")
            _ = try await RollUpRebuild(stores.configuration).run()
            try await stores.expectExact()
            #expect(try await stores.count("SELECT prepare_rollup()") == 1)
            try await stores.expectExact()
            _ = try await stores.sql("DELETE FROM known_time_zone WHERE name = 'Europe/Berlin'")
            _ = try await RollUpRebuild(stores.configuration).run()
            try await stores.expectExact()
            #expect(try await stores.count("SELECT prepare_rollup()") == 1)
            try await stores.expectExact()
            #expect(try await stores.brokenRollUp().isEmpty)
        }
    }

    @Test func deltasOfARestoredDump_areCountedAndFolded() async throws {
        try await TestStores.with { stores in
            try await stores.register("a", token: "aaaaaaaaaaaaaaaa")
            try await stores.fold()
            try await stores.register("b", token: "aaaaaaaaaaaaaaab")
            // The old cluster had counted further.
            _ = try await stores.sql("UPDATE rollup_state SET horizon = '999999999'")
            try await stores.expectExact()
            // Or not as far: then until the service starts.
            _ = try await stores.sql("UPDATE rollup_delta SET transaction_id = '5'")
            _ = try await stores.sql("UPDATE rollup_state SET horizon = pg_current_xact_id()")
            #expect(try await stores.brokenRollUp() == ["rollup-horizon", "rollup-recount"])
            _ = try await stores.sql("SELECT prepare_rollup()")
            try await stores.expectExact()
            #expect(try await stores.fold() == 1)
            try await stores.expectExact()
        }
    }

    private static let damages = [
        Damage(
            ["rollup-recount", "rollup-marginals"],
            "UPDATE rollup_cell SET active = active + 1 WHERE level = 255"),
        Damage(["rollup-marginals"], "UPDATE rollup_cell SET installations = installations - 1 WHERE level = 12"),
        Damage(["rollup-marginals"], "DELETE FROM rollup_cell WHERE level = 0"),
        Damage(["rollup-recount", "rollup-marginals"], "DELETE FROM rollup_cell WHERE level = 255"),
        Damage(["rollup-recount", "rollup-marginals"], "DELETE FROM rollup_cell"),
        Damage(["rollup-marginals"], "UPDATE rollup_size SET reachable = reachable + 1 WHERE level = 12"),
        Damage(["rollup-marginals"], "DELETE FROM rollup_size"),
        Damage(["rollup-recount"], "UPDATE rollup_text SET text = 'x' || text WHERE text = 'de_DE'"),
        Damage(["rollup-recount"], "DELETE FROM rollup_text WHERE text = 'de_DE'"),
        Damage(
            ["rollup-recount"],
            """
            INSERT INTO rollup_delta (app_id, provider, locale, time_zone_id, time_zone_offset, system_name,
                system_version, authorization_status, state, count)
            SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
                authorization_status, 'stale', 5
            FROM installation LIMIT 1
            """),
        Damage(
            ["rollup-recount", "rollup-marginals"],
            "UPDATE rollup_cell SET active = 0 WHERE level = 255 AND active > reachable"),
    ]
}

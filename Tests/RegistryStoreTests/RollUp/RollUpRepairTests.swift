import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite(
    "verify finds a roll-up that is wrong, and rebuilding it corrects it beside writers", .timeLimit(.minutes(30)),
    .stores)
struct RollUpRepairTests {
    private let stores = TestStores.lent!

    @Test func damage_isFound_andCorrected() async throws {
        for number in 10..<16 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        try await stores.fold()
        try await stores.change("UPDATE installation SET system_version = '27' WHERE install_id < 'i13'")
        try await stores.change(
            """
            UPDATE installation SET settings = settings & ~15 | 2, user_id = 'u', session_id = 's',
                session_expires_at = now() + (right(install_id, 1)::integer - 3) * interval '1 hour'
            WHERE install_id > 'i11'
            """)
        try await stores.giveTypedTokens()
        for damage in Self.damages {
            _ = try await stores.sql(damage.done)
            #expect(try await stores.brokenRollUp() == damage.broken, "\(damage.done)")
            let report = try await RollUpRebuild(stores.configuration).run()
            #expect(report.cells + report.installations > 0, "\(damage.done)")
            try await stores.expectExact()
            #expect(try await stores.brokenRollUp().isEmpty, "\(damage.done)")
        }
        let report = try await RollUpRebuild(stores.configuration).run()
        #expect(report.cells == 0 && report.installations == 0)
    }

    @Test func missingState_isFound_andAdded() async throws {
        try await stores.register("i1", token: "aaaaaaaaaaaaaa10")
        _ = try await stores.sql("DELETE FROM rollup_state")
        #expect(try await stores.brokenRollUp() == ["rollup-state"])
        _ = try await RollUpRebuild(stores.configuration).run()
        #expect(try await stores.brokenRollUp().isEmpty)
        try await stores.expectExact()
    }

    @Test func rebuild_corrects_whileOthersWriteAndFold() async throws {
        let seed = TestSeed.make(for: "RollUpRepairTests")
        await RollUpWriter.write(stores, seed: seed, steps: 60)
        try await stores.fold()
        _ = try await stores.sql("UPDATE rollup_cube SET installations = installations + 3")
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

    @Test func zones_areLearnedAnew_whenTheyComeAndGo() async throws {
        for number in 10..<16 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        try await stores.change(
            """
            UPDATE installation SET time_zone_offset = right(install_id, 1)::integer,
                time_zone_id = CASE WHEN install_id < 'i13' THEN 'Mars/Olympus' ELSE time_zone_id END
            """)
        try await stores.fold()
        // As if the time zone database had lost a planet and gained a city.
        _ = try await stores.sql("INSERT INTO known_time_zone VALUES ('Mars/Olympus')")
        _ = try await stores.sql("DELETE FROM known_time_zone WHERE name = 'Europe/Berlin'")
        #expect(try await stores.brokenRollUp() == ["rollup-cells"])
        _ = try await RollUpRebuild(stores.configuration).run()
        try await stores.expectExact()
        #expect(try await stores.brokenRollUp().isEmpty)
        try await RollUpFolder(LoopResources(postgres: stores.postgres)).prepare()
        try await stores.expectExact()
        #expect(try await stores.brokenRollUp().isEmpty)
        #expect(try await stores.count("SELECT count(*) FROM known_time_zone WHERE name = 'Mars/Olympus'") == 0)
    }

    /// The process was killed, or lost the database, after it had learned the names.
    @Test func changedZones_areRemembered_untilTheirInstallationsHaveTheirCells() async throws {
        try await stores.register("i1", token: "aaaaaaaaaaaaaa10")
        let remove: PostgresStatement = "DELETE FROM known_time_zone WHERE name = 'Europe/Berlin'"
        _ = try await stores.sql(remove)
        try await stores.change("UPDATE installation SET time_zone_offset = 7200")
        #expect(try await stores.count("SELECT max(time_zone_offset) FROM rollup_cell") == 7200)
        let folder = RollUpFolder(LoopResources(postgres: stores.postgres))
        for isBroken in [true, false] {
            let names: [PostgresSQL] = isBroken ? ["rollup_cell", "away"] : ["away", "rollup_cell"]
            _ = try await stores.sql(
                PostgresStatement("ALTER TABLE \(sql: names[0]) RENAME TO \(sql: names[1])"))
            if isBroken {
                await #expect(throws: PostgresError.self) { try await folder.prepare() }
                #expect(try await stores.count("SELECT count(*) FROM changed_time_zone") == 1)
            } else {
                #expect(try await stores.brokenRollUp() == ["rollup-cells"])
                try await folder.prepare()
            }
        }
        #expect(try await stores.brokenRollUp() == [])
        #expect(try await stores.count("SELECT count(*) FROM changed_time_zone") == 0)
    }

    @Test(arguments: [5, 999_999_999] as [Int64])
    func deltasOfARestoredDump_areCountedAndFolded(horizon: Int64) async throws {
        try await stores.register("a", token: "aaaaaaaaaaaaaaaa")
        try await stores.fold()
        try await stores.register("b", token: "aaaaaaaaaaaaaaab")
        try await stores.expectExact()
        // As if they were of another cluster, which had counted further, or not as far.
        _ = try await stores.sql(
            """
            WITH state AS (UPDATE rollup_state SET horizon = \(horizon) RETURNING app_id)
            UPDATE rollup_delta d SET transaction_id = \(horizon)
                + CASE WHEN d.transaction_id < (SELECT horizon FROM rollup_state) THEN -1 ELSE 1 END
            """)
        _ = try await stores.sql("UPDATE change_epoch SET identity = 'old'")
        #expect(try await stores.brokenRollUp() == (horizon > 5 ? ["rollup-horizon"] : []))
        #expect(try await RestoredEvents.adopt(stores.configuration))
        try await stores.expectExact(CubeCache())
        #expect(try await stores.brokenRollUp().isEmpty)
        try await stores.register("c", token: "aaaaaaaaaaaaaaac")
        #expect(try await stores.fold()?.deltas == 2)
        try await stores.expectExact(CubeCache())
        #expect(try await stores.brokenRollUp().isEmpty)
    }

    /// A cube that was read before the damage is right, one that was read after it is wrong.
    @Test func cubesInMemory_areReadAnew_afterARebuild() async throws {
        for number in 10..<16 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        try await stores.fold()
        try await stores.expectExact()
        _ = try await stores.sql("UPDATE rollup_cube SET installations = installations + 3")
        _ = try await RollUpRebuild(stores.configuration).run()
        try await stores.expectExact()
    }

    @Test func installationsWithoutACell_getOne() async throws {
        for number in 10..<16 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        _ = try await stores.sql("UPDATE installation SET cell = 0, locale = 'fr_' || install_id")
        _ = try await stores.sql("DELETE FROM rollup_delta")
        #expect(try await stores.brokenRollUp() == ["rollup-cells", "rollup-recount"])
        let report = try await RollUpRebuild(stores.configuration).run()
        #expect(report.installations == 6)
        try await stores.expectExact()
        #expect(try await stores.brokenRollUp().isEmpty)
    }

    private static let damages: [(broken: Set<String>, done: PostgresStatement)] = [
        (["rollup-recount"], "DELETE FROM typed_token WHERE kind = 'widget'"),
        (["rollup-recount"], "UPDATE typed_token SET held = true WHERE kind = 'voip'"),
        (["rollup-recount"], "UPDATE typed_token SET held = false"),
        (["rollup-recount"], "UPDATE typed_token SET expires_at = expires_at - interval '2 hours'"),
        (["rollup-recount"], "UPDATE rollup_cube SET active = active + 1"),
        (["rollup-recount"], "UPDATE rollup_cube SET reachable = reachable + 1"),
        (["rollup-recount"], "DELETE FROM rollup_cube"),
        (["rollup-cells"], "UPDATE rollup_text SET text = 'x' || text WHERE text = 'de_DE'"),
        (["rollup-cells", "rollup-recount"], "UPDATE installation SET cell = 0 WHERE install_id = 'i10'"),
        (["rollup-recount"], "DELETE FROM rollup_expiry"),
        (["rollup-recount"], "UPDATE rollup_expiry SET expires_at = expires_at + interval '1 day'"),
        (
            ["rollup-recount"],
            """
            INSERT INTO rollup_expiry SELECT app_id, 0, now(), number, 3 FROM rollup_cell WHERE is_admitted LIMIT 1
            """
        ),
        (
            ["rollup-recount"],
            """
            INSERT INTO rollup_delta SELECT app_id, 0, pg_current_xact_id()::text::bigint, cell, NULL, 5, 5
            FROM installation LIMIT 1
            """
        ),
        (["rollup-recount"], "UPDATE rollup_cube SET active = 0 WHERE active > reachable"),
        (
            ["rollup-expiry"],
            """
            INSERT INTO rollup_expiry SELECT id, 0, now() + interval '1 hour', 999999999, 3 FROM app
            """
        ),
        (
            ["rollup-expiry"],
            """
            WITH cell AS (
                INSERT INTO rollup_cell (app_id, number, provider, authorization_status, authorization_assumed,
                    locale_number, zone_number, spelling_number, system_number, time_zone_offset, version_number)
                OVERRIDING SYSTEM VALUE
                SELECT app_id, 999999998, 'apns', 'denied', false, 0, 0, 0, 0, 1, 0
                FROM (SELECT id AS app_id FROM app) AS a RETURNING app_id, number)
            INSERT INTO rollup_expiry SELECT app_id, 0, now() - interval '1 hour', number, 3 FROM cell
            """
        ),
    ]
}

extension TestStores {
    /// To each installation a token of each of three kinds, and to some one that expires. Of cells that do not allow
    /// notifications, too.
    fileprivate func giveTypedTokens() async throws {
        try await change(
            """
            INSERT INTO typed_token (app_id, install_id, kind, name, provider, token, token_sha256, received_at,
                expires_at)
            SELECT app_id, install_id, k.kind::token_kind, '', 'apns', install_id || k.kind,
                sha256(convert_to(install_id || k.kind, 'UTF8')), now(), now() + k.expiry::interval
            FROM installation i, (
                VALUES ('widget', NULL), ('voip', '1 hour'), ('liveActivity', '3 hours')) AS k (kind, expiry)
            """)
    }
}

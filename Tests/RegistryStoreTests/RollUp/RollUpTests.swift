import EventLoop
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("Each change of installations moves the counts of its cells and of no others", .stores)
struct RollUpTests {
    private let stores = TestStores.lent!

    @Test func everyKindOfChange_movesItsCells() async throws {
        for number in 10..<16 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        for change in Self.changes {
            try await stores.change(change)
            #expect(try await stores.waitingDeltas() > 0, "\(change)")
            try await stores.expectExact()
            try await stores.fold()
            try await stores.expectExact()
            #expect(try await stores.waitingDeltas() == 0)
        }
        #expect(try await stores.brokenRollUp().isEmpty)
    }

    @Test func rowsThatCountNothing_areRemoved() async throws {
        for number in 10..<16 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        try await stores.change(
            """
            UPDATE installation
            SET session_expires_at = now() + interval '1 hour', user_id = 'u', session_id = 's'
            """
        )
        try await stores.fold()
        #expect(try await stores.count("SELECT count(*) FROM rollup_cube") == 1)
        try await stores.change("DELETE FROM installation")
        try await stores.fold()
        for table in ["rollup_cube", "rollup_expiry"] as [PostgresSQL] {
            #expect(try await stores.count("SELECT count(*) FROM \(sql: table)") == 0)
        }
        #expect(try await stores.brokenRollUp().isEmpty)
    }

    /// Services follow the deltas for some ten minutes.
    @Test func foldedDeltas_areKept_forTenMarks() async throws {
        try await stores.register("a", token: "aaaaaaaaaaaaaaaa")
        try await stores.expectExact()
        let old = try #require(stores.cubes.cube(of: stores.app.number))
        for _ in 0..<RollUpStatements.marksMax {
            #expect(try await stores.count("SELECT count(*) FROM rollup_delta") > 0)
            try await stores.passMark()
            try await stores.fold()
        }
        #expect(try await stores.count("SELECT count(*) FROM rollup_delta") == 0)
        try await stores.register("b", token: "aaaaaaaaaaaaaaab")
        // A process that has not asked meanwhile reads the cube anew.
        stores.cubes.store(old, of: stores.app.number, replacing: stores.cubes.cube(of: stores.app.number))
        try await stores.expectExact()
    }

    @Test func folder_deletesFoldedDeltas_ofAnAppWithoutChanges() async throws {
        try await stores.register("a", token: "aaaaaaaaaaaaaaaa")
        try await stores.fold()
        try await whileFolding(stores, Self.hurried) {
            try await eventually {
                try await stores.passMark()
                return try await stores.count("SELECT count(*) FROM rollup_delta") == 0
            }
        }
        try await stores.expectExact()
    }

    @Test func folder_foldsByItself_andEndsWhenCancelled() async throws {
        var limits = RollUpFolder.Limits()
        limits.interval = .milliseconds(1)
        limits.deltasMax = 2
        limits.ageMax = .milliseconds(50)
        limits.batch = 2
        limits.vacuumAfter = 0
        let folder = RollUpFolder(LoopResources(postgres: stores.postgres), limits: limits)
        let task = Task { await folder.run() }
        for number in 10..<21 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        try await eventually { try await stores.waitingDeltas() == 0 }
        task.cancel()
        await task.value
        #expect(try await stores.count("SELECT sum(installations)::bigint FROM rollup_cube") == 11)
    }

    private static var hurried: RollUpFolder.Limits {
        var limits = RollUpFolder.Limits()
        limits.interval = .milliseconds(1)
        limits.restMax = .milliseconds(10)
        limits.ageMax = .zero
        return limits
    }

    private func whileFolding(
        _ stores: TestStores, _ limits: RollUpFolder.Limits, _ body: () async throws -> Void
    ) async throws {
        let folder = RollUpFolder(LoopResources(postgres: stores.postgres), limits: limits)
        let task = Task { await folder.run() }
        defer { task.cancel() }
        try await body()
    }

    @Test func app_isFolded_behindAnAppWhoseFoldFails() async throws {
        try await stores.fail(changesOf: "rollup_cube", when: "NEW.app_id = 1")
        try await stores.register("i10", token: "aaaaaaaaaaaaaa10")
        let behind = try await stores.appBehind()
        _ = try await stores.sql(
            """
            INSERT INTO rollup_delta (app_id, transaction_id, cell, active, installations)
            VALUES (\(behind), pg_current_xact_id()::text::bigint, 1, 1, 1)
            """)
        try await whileFolding(stores, Self.hurried) {
            try await eventually {
                try await stores.count("SELECT folded FROM rollup_state WHERE app_id = \(behind)") == 1
            }
        }
        #expect(try await stores.waitingDeltas() > 0)
    }

    @Test func batch_isHalved_untilItsFoldEndsInTime() async throws {
        for number in 10..<26 {
            try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)", systemVersion: "\(number)")
        }
        _ = try await stores.sql(
            """
            CREATE FUNCTION refuse_more() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF (SELECT count(*) FROM new_rows) > 3 THEN
                    RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = '57014';
                END IF;
                RETURN NULL;
            END $$
            """)
        _ = try await stores.sql(
            """
            CREATE TRIGGER refuse_more AFTER INSERT ON rollup_cube REFERENCING NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION refuse_more()
            """)
        try await whileFolding(stores, Self.hurried) {
            try await eventually { try await stores.waitingDeltas() == 0 }
        }
        try await stores.expectExact()
    }

    private static let changes: [PostgresStatement] = [
        "UPDATE installation SET locale = 'fr_FR' WHERE install_id = 'i10'",
        "UPDATE installation SET time_zone_id = 'Asia/Tokyo' WHERE install_id = 'i11'",
        "UPDATE installation SET time_zone_id = 'Mars/Olympus' WHERE install_id >= 'i14'",
        "UPDATE installation SET time_zone_offset = 7200 WHERE install_id = 'i14'",
        "UPDATE installation SET system_name = 'iPadOS' WHERE install_id = 'i10'",
        "UPDATE installation SET system_version = '27' WHERE install_id < 'i13'",
        "UPDATE installation SET system_version = '27.0' WHERE install_id = 'i10'",
        "UPDATE installation SET system_version = 'beta' WHERE install_id = 'i11'",
        "UPDATE installation SET settings = settings & ~15 | 2 WHERE install_id < 'i14'",
        "UPDATE installation SET provider = 'fcm' WHERE install_id = 'i15'",
        "UPDATE installation SET state = 'stale' WHERE install_id = 'i12'",
        "DELETE FROM installation WHERE install_id = 'i13'",
        """
        INSERT INTO installation SELECT (jsonb_populate_record(i, '{"install_id": "n"}')).* FROM installation i
        WHERE install_id = 'i11'
        """,
        "UPDATE installation SET locale = 'x' || locale, state = 'suspect'",
        "DELETE FROM installation",
    ]
}

@Suite("An app is folded when many deltas wait, or when its newest mark is old", .stores)
struct RollUpDueTests {
    private let stores = TestStores.lent!

    private static func isDue(_ stores: TestStores, deltasMax: Int = 100, expiriesMax: Int = 10) async throws -> Bool {
        var limits = RollUpFolder.Limits()
        (limits.deltasMax, limits.expiriesMax) = (deltasMax, expiriesMax)
        return try await !RollUpFolder(LoopResources(postgres: stores.postgres), limits: limits).due().isEmpty
    }

    @Test func many_areDueAtOnce() async throws {
        for number in 10..<13 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        let count = Int(try await stores.waitingDeltas())
        #expect(try await Self.isDue(stores, deltasMax: count))
        #expect(try await !Self.isDue(stores, deltasMax: count + 1))
    }

    @Test func manyExpiredSessions_areDueAtOnce() async throws {
        _ = try await stores.sql(
            """
            INSERT INTO rollup_expiry (app_id, topic, expires_at, cell, active)
            SELECT \(stores.app.number.rawValue), 0, now() - interval '1 second', cell, 1
            FROM generate_series(1, 10) AS cell
            """)
        #expect(try await Self.isDue(stores))
        #expect(try await !Self.isDue(stores, expiriesMax: 11))
        try await stores.passMark()
        #expect(try await Self.isDue(stores, expiriesMax: 11))
    }

    /// Deltas that are folded are kept until ten marks have passed; nothing is due without any.
    @Test func few_areDue_afterAMinute_andAgainUntilTheyAreRemoved() async throws {
        try await stores.passMark()
        #expect(try await !Self.isDue(stores))
        _ = try await stores.sql("UPDATE rollup_state SET marked_at = now()")
        try await stores.register("a", token: "aaaaaaaaaaaaaaaa")
        #expect(try await !Self.isDue(stores))
        for _ in 0..<20 {
            try await stores.passMark()
            guard try await Self.isDue(stores) else { break }
            try await stores.fold()
            #expect(try await !Self.isDue(stores))
        }
        #expect(try await !Self.isDue(stores))
        #expect(try await stores.count("SELECT count(*) FROM rollup_delta") == 0)
    }
}

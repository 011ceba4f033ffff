import EventLoop
import PostgresClient
import PushRegistry
import RegistryStore
import Testing

@Suite("Each change of installations moves the counts of its cells and of no others")
struct RollUpTests {
    @Test func everyKindOfChange_movesItsCells() async throws {
        try await TestStores.with { stores in
            for number in 10..<16 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
            for change in Self.changes {
                _ = try await stores.sql(change)
                #expect(try await stores.count("SELECT count(*) FROM rollup_pending") > 0, "\(change)")
                try await stores.expectExact()
                try await stores.fold()
                try await stores.expectExact()
                #expect(try await stores.count("SELECT count(*) FROM rollup_pending") == 0)
            }
            #expect(try await stores.brokenRollUp().isEmpty)
        }
    }

    @Test func nothingIsWritten_whereNoDimensionChanges() async throws {
        try await TestStores.with { stores in
            try await stores.register("i", token: "aaaaaaaaaaaaaaaa")
            try await stores.fold()
            _ = try await stores.sql("UPDATE installation SET badge_setting = 'enabled', last_seen_at = now()")
            #expect(try await stores.count("SELECT count(*) FROM rollup_delta") == 0)
        }
    }

    @Test func emptyCells_areRemoved() async throws {
        try await TestStores.with { stores in
            try await stores.register("i", token: "aaaaaaaaaaaaaaaa")
            try await stores.fold()
            #expect(try await stores.count("SELECT count(*) FROM rollup_cell") == 30)
            _ = try await stores.sql("DELETE FROM installation")
            try await stores.fold()
            for table in ["rollup_cell", "rollup_text", "rollup_size"] {
                let rows = try await stores.count("SELECT count(*) FROM \(sql: PostgresSQL(identifier: table))")
                #expect(rows == 0, "\(table)")
            }
        }
    }

    @Test func truncate_empties_whateverWasPending() async throws {
        try await TestStores.with { stores in
            try await stores.register("i", token: "aaaaaaaaaaaaaaaa")
            try await stores.fold()
            try await stores.register("k", token: "aaaaaaaaaaaaaaab")
            _ = try await stores.sql("TRUNCATE installation")
            #expect(try await stores.count("SELECT count(*) FROM rollup_cell") == 0)
            try await stores.expectExact()
        }
    }

    @Test func session_isNotReachable_fromTheMomentItExpires_whateverWasFolded() async throws {
        try await TestStores.with { stores in
            for number in 10..<20 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
            _ = try await stores.sql(
                """
                UPDATE installation SET authorization_status = 'authorized', user_id = 'u', session_id = 's',
                    session_expires_at = now() + (right(install_id, 1)::integer - 5) * interval '1 hour'
                """)
            for isFolded in [false, true] {
                if isFolded { try await stores.fold() }
                for hours in -7...7 { try await stores.expectExact(after: .seconds(3_600 * hours + 60)) }
            }
            #expect(
                try await stores.count(
                    "SELECT active - reachable FROM rollup_cell WHERE level = 0") == 6)
            #expect(try await stores.brokenRollUp().isEmpty)
        }
    }

    @Test func folder_foldsByItself_andEndsWhenCancelled() async throws {
        try await TestStores.with { stores in
            var limits = RollUpFolder.Limits()
            limits.interval = .milliseconds(1)
            limits.batch = 2
            limits.vacuumAfter = 1
            let folder = RollUpFolder(postgres: stores.postgres, limits: limits)
            let task = Task { await folder.run() }
            for number in 10..<20 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
            while try await stores.count("SELECT count(*) FROM rollup_delta") > 0 {}
            task.cancel()
            await task.value
            #expect(try await stores.count("SELECT installations FROM rollup_cell WHERE level = 0") == 10)
        }
    }

    private static let changes: [PostgresStatement] = [
        "UPDATE installation SET provider = 'apnsSandbox' WHERE install_id = 'i10'",
        "UPDATE installation SET locale = 'fr_FR' WHERE install_id = 'i10'",
        "UPDATE installation SET time_zone_id = 'Asia/Tokyo' WHERE install_id = 'i11'",
        "UPDATE installation SET time_zone_id = 'Mars/Olympus' WHERE install_id >= 'i14'",
        "UPDATE installation SET time_zone_offset = 7200 WHERE install_id = 'i14'",
        "UPDATE installation SET system_name = 'iPadOS' WHERE install_id = 'i10'",
        "UPDATE installation SET system_version = '27' WHERE install_id < 'i13'",
        "UPDATE installation SET authorization_status = 'authorized' WHERE install_id < 'i14'",
        "UPDATE installation SET state = 'stale' WHERE install_id = 'i12'",
        "UPDATE installation SET app_id = app_id + 1 WHERE install_id = 'i12'",
        "DELETE FROM installation WHERE install_id = 'i13'",
        "INSERT INTO installation SELECT (jsonb_populate_record(i, '{\"install_id\": \"n\", \"token_sha256\": \"x\"}')).* FROM installation i WHERE install_id = 'i11'",
        "UPDATE installation SET locale = 'x' || locale, state = 'suspect'",
        "DELETE FROM installation",
    ]
}

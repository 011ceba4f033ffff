import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("An import writes what a registration writes, and takes no token from its holder", .stores)
struct ImporterTests {
    private let stores = TestStores.lent!

    /// As `TestStores.register` sends it.
    private func line(
        _ installID: String, token: String, user: String? = nil, session: String? = nil, seenAt: String? = nil,
        generation: Int64? = nil
    ) throws -> ImportedInstallation {
        var record = ImportRecord()
        (record[.lastSeenAt], record[.generation]) = (seenAt, generation.map { "\($0)" })
        if let session { (record[.sessionID], record[.sessionExpiresAt]) = (session, "2099-01-01T00:00:00Z") }
        (record[.installID], record[.token], record[.userID]) = (installID, token, user)
        (record[.locale], record[.timeZone], record[.utcOffset]) = ("de_DE", "Europe/Berlin", "3600")
        (record[.deviceModel], record[.systemName], record[.osVersion]) = ("iPhone17,3", "iOS", "26.5")
        var reader = ImportReader(links: TimeZoneLinks(zones: "Z Europe/Berlin 1 - CET", table: ""))
        return try reader.installation(record)
    }

    private func load(
        _ lines: [ImportedInstallation], into stores: TestStores, _ topics: TopicCatalogue = TopicCatalogue()
    ) async throws -> InstallationImporter.Counts {
        let rest = Locked([lines])
        return try await InstallationImporter(into: stores.app.number, topics: topics).load(
            stores.configuration, from: { _ in rest.withLock { $0.popLast() } })
    }

    @Test func token_isTaken_whenNobodyHoldsItAnyMore() async throws {
        let token = "aaaaaaaaaaaaaaaa"
        try await stores.register("old", token: token)
        try await stores.register("old", token: "bbbbbbbbbbbbbbbb")
        let counts = try await load([line("new", token: token), line("other", token: token)], into: stores)
        #expect(counts.imported == 1 && counts.skipped == 1)
        #expect(try await load([line("thief", token: token)], into: stores).skipped == 1)
        try await stores.expectIntact()
    }

    /// R7: a session that ended on an installation stays ended there, also if nothing is left of the installation.
    @Test func line_isSkipped_ifItsUserWasLoggedOutOfTheInstallation() async throws {
        let lines = [
            try line("session", token: "aaaaaaaaaaaaaaaa", user: "alice", session: "s"),
            try line("before", token: "bbbbbbbbbbbbbbbb", user: "alice", seenAt: "2026-01-01T00:00:00Z"),
            try line("after", token: "cccccccccccccccc", user: "alice", seenAt: "2099-01-01T00:00:00Z"),
        ]
        for line in lines {
            let (id, token) = (line.installID.rawValue, line.token.text)
            try await stores.register(id, token: token, as: "alice", session: line.session?.id.rawValue)
            try await stores.logOut(id)
            try await stores.installations.delete(
                Deletion(key: stores.key(id), requester: .service, precondition: nil, actor: "service:test"))
        }
        let counts = try await load(lines, into: stores)
        #expect(counts.imported == 1 && counts.skipped == 2)
        #expect(try await stores.column("SELECT install_id FROM installation") == ["after"])
        try await stores.expectIntact()
    }

    /// The rows of all tables, without times of the import and without numbers that it draws.
    private func rows(_ stores: TestStores) async throws -> [String] {
        let statements: [PostgresStatement] = [
            """
            SELECT (to_jsonb(r) - '{generation,registration_generation,epoch,revision,state_changed_at,snapshot_at}'
                ::text[])::text FROM installation AS r ORDER BY 1
            """,
            """
            SELECT (to_jsonb(r) - '{id,position,at,generation_before,generation_after}'::text[])::text
            FROM token_event AS r ORDER BY 1
            """,
            "SELECT to_jsonb(r)::text FROM user_guard AS r ORDER BY 1",
            "SELECT to_jsonb(r)::text FROM session AS r ORDER BY 1",
            """
            SELECT concat_ws(' ', topic, cell, expires_at, sum(active), sum(installations))
            FROM rollup_delta GROUP BY topic, cell, expires_at ORDER BY 1
            """,
            "SELECT to_jsonb(r)::text FROM token_holder AS r ORDER BY 1",
            "SELECT (to_jsonb(r) - 'number')::text FROM installation_owner AS r ORDER BY 1",
        ]
        var rows: [String] = []
        for statement in statements {
            rows += try await stores.sql(statement).map { try $0.decode(0, as: String.self) }
        }
        return rows
    }

    /// The import waits for a token; meanwhile the former life of one of its installations ends.
    @Test func event_comesAfterTheDeletion_thatWasWrittenDuringTheWait() async throws {
        let (first, second) = ("aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb")
        try await stores.register("phone", token: first)
        let (app, token) = (stores.app.number.rawValue, stores.address(second).sha256)
        try await stores.postgres.holding(
            """
            INSERT INTO token_holder (app_id, provider, token_sha256, install_id)
            VALUES (\(app), 'apns', \(token), 'nobody')
            """
        ) {
            let counts = try await load([line("phone", token: second)], into: stores)
            #expect(counts.imported == 1)
        } meanwhile: { holder in
            try await stores.installations.delete(
                Deletion(
                    key: stores.key("phone"), requester: .service, precondition: nil, actor: "service:test"))
            _ = try await holder.execute("DELETE FROM token_holder WHERE install_id = 'nobody'")
        }
        let events = try await stores.column("SELECT event::text FROM token_event ORDER BY position, id")
        #expect(events == ["registered", "deleted", "imported"])
    }

    /// The second set has an installation that the registry has, so it is looked up.
    @Test func set_leadsToTheSameRows_whetherItIsExpectedToBeNewOrNot() async throws {
        let topics = try (1...2).map { number in
            Topic(
                number: TopicNumber(Int32(number)), slug: try TopicSlug("t\(number)"),
                content: try Topic.Content(
                    name: "t", description: nil, category: nil, isInByDefault: false, isLocked: false))
        }
        var lines = try (0..<40).map { number in
            try line(
                "i-\(number)", token: "aaaaaaaa\(10_000_000 + number)",
                user: number % 4 == 0 ? nil : "u-\(number % 7)",
                session: number % 4 == 1 ? "s-\(number)" : nil, seenAt: "2026-11-01T00:00:00Z")
        }
        for number in lines.indices where number % 3 == 0 {
            lines[number].topicChoices = TopicChoices(codes: [1, -2])
        }
        let catalogue = TopicCatalogue(topics)
        #expect(try await load(lines, into: stores, catalogue).imported == lines.count)
        let copied = try await rows(stores)
        #expect(copied.count > lines.count * 3)
        _ = try await stores.sql(
            """
            TRUNCATE installation, token_holder, installation_owner, token_event, rollup_delta
            """)
        #expect(try await load(Array(lines.prefix(1)), into: stores, catalogue).imported == 1)
        let counts = try await load(lines + lines.suffix(1), into: stores, catalogue)
        #expect(counts.imported == lines.count - 1 && counts.unchanged == 2)
        let merged = try await rows(stores)
        let difference = Set(merged).symmetricDifference(copied).sorted()
        #expect(merged.count == copied.count && difference.isEmpty, "\(difference.prefix(4))")
    }

    /// A set that waits has locked thousands of rows, so it lets go of them and begins again.
    @Test func import_waitsForALock_onlyForSoLong() async throws {
        #expect(InstallationImporter.sessionSettings["lock_timeout"] != nil)
        try await stores.register("phone", token: "aaaaaaaaaaaaaaaa", as: "alice")
        _ = try await stores.sql(
            """
            DO $$ BEGIN
                EXECUTE format(
                    'ALTER ROLE %I IN DATABASE %I SET lock_timeout = 400', current_user, current_database());
            END $$
            """)
        let lines = [try line("other", token: "bbbbbbbbbbbbbbbb", user: "alice")]
        let waiting: PostgresStatement = """
            SELECT max(xact_start) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
            """
        let buckets = LockBuckets(users: [UserDigest.sha256(try UserID("alice"))], in: stores.app.number)
        try await stores.postgres.holding(buckets.exclusive) {
            let imported = try await load(lines, into: stores).imported
            #expect(imported == 1)
        } meanwhile: { _ in
            let first = try await stores.sql(waiting)[0].decode(0, as: PostgresTimestamp?.self)
            try await eventually {
                let last = try await stores.sql(waiting)[0].decode(0, as: PostgresTimestamp?.self)
                return last.map { $0 != first } ?? false
            }
        }
    }

    @Test func data_isIntact_whenTheSameInstallationsRegisterMeanwhile() async throws {
        for round in 0..<10 {
            let ids = (0..<20).map { "i-\(round)-\($0)" }
            let tokens = (0..<20).map { "aaaaaaaa" + String(10_000_000 + round * 20 + $0) }
            let lines = try zip(ids, tokens).map { try line($0, token: $1, user: "alice") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        let counts = try await load(lines.shuffled(), into: stores)
                        #expect(counts.imported + counts.unchanged + counts.skipped == 20)
                    }
                }
                for number in 0..<20 {
                    group.addTask {
                        try await stores.register(ids[number], token: tokens[19 - number], as: "alice")
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await stores.sql("SELECT FROM installation").count >= (round + 1) * 10)
        }
        try await stores.expectIntact()
    }
}

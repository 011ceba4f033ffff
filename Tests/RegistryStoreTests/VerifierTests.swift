import PostgresClient
import PushRegistry
import RegistryJobs
import RegistryStore
import Testing

@Suite("The verifier finds what is broken, and nothing else", .stores)
struct VerifierTests {
    private let stores = TestStores.lent!

    /// SQL that breaks the data, the invariants that report it, and SQL that repairs it.
    private struct Damage {
        let done: PostgresStatement
        let undone: PostgresStatement
        let broken: Set<String>

        init(_ broken: Set<String>, _ done: PostgresStatement, undone: PostgresStatement) {
            self.broken = broken
            self.done = done
            self.undone = undone
        }

        /// Changes the row of an installation.
        static func update(
            _ broken: Set<String>, _ done: PostgresSQL, undone: PostgresSQL, of installID: String = "b",
            in table: PostgresSQL = "installation"
        ) -> Self {
            func update(_ change: PostgresSQL) -> PostgresStatement {
                PostgresStatement("UPDATE \(sql: table) SET \(sql: change) WHERE install_id = \(installID)")
            }
            return Self(broken, update(done), undone: update(undone))
        }
    }

    @Test func damage_isFound_andNothingElseIsAccused() async throws {
        try await stores.prepare()
        try await stores.expectBroken([])
        for damage in Self.damages {
            _ = try await stores.sql(damage.done)
            try await stores.expectBroken(damage.broken)
            _ = try await stores.sql(damage.undone)
        }
        try await stores.expectBroken([])
    }

    @Test func token_isFoundTwice_whenItsKeyIsGone() async throws {
        try await stores.prepare()
        _ = try await stores.sql("ALTER TABLE token_holder DROP CONSTRAINT token_holder_pkey")
        try await stores.expectBroken(["token-index"])
        _ = try await stores.sql(
            """
            UPDATE installation i SET token = o.token, token_sha256 = o.token_sha256 FROM installation o
            WHERE i.install_id = 'b' AND o.install_id = 'c'
            """)
        try await stores.expectBroken(["token-index", "token-holder", "event-matches-row"])
    }

    @Test func report_countsAll_andShowsAFew() async throws {
        for number in 10..<30 { try await stores.register("i-\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        _ = try await stores.sql("UPDATE installation SET generation = 0, registration_generation = 0")
        let report = try await RegistryVerifier(stores.configuration).verify()
        let finding = try #require(report.findings.first { $0.invariant.name == "generation" })
        #expect(finding.broken == 20 && finding.examples.count == 5)
        #expect(report.installations == 20 && report.events == 20)
    }

    private static func end(_ session: String, daysAgo days: Int32) -> PostgresStatement {
        """
        INSERT INTO session (app_id, session_id, recorded_at, ended_at)
        SELECT app_id, session_id, registered_at, now() - interval '1 day' * \(days)
        FROM installation WHERE session_id = \(session)
        """
    }

    private static let damages = registryDamages + messageDamages + typedTokenDamages

    private static let typedTokenDamages = [
        Damage(["typed-token-holder"], typedToken(of: ["b", "c"]), undone: "DELETE FROM typed_token"),
        Damage(["typed-token-binding"], typedToken(of: ["a"]), undone: "DELETE FROM typed_token"),
        Damage(["typed-token-count"], typedToken(of: ["b"], names: 17), undone: "DELETE FROM typed_token"),
        Damage([], typedToken(of: ["b"], names: 16), undone: "SELECT 1"),
        Damage(
            ["held-token"], "UPDATE typed_token SET held_at = '2000-01-01'",
            undone: "UPDATE typed_token SET held_at = now()"),
        Damage(
            ["typed-token-digest"], "UPDATE typed_token SET token = token || 'ff' WHERE name = '1'",
            undone: "DELETE FROM typed_token"),
    ]

    /// Gives installations one and the same token, under a number of names. The roll-up does not count it: it is held.
    private static func typedToken(of installIDs: [String], names: Int32 = 1) -> PostgresStatement {
        """
        INSERT INTO typed_token
            (app_id, install_id, kind, name, provider, token, token_sha256, received_at, held, held_at)
        SELECT app_id, install_id, 'voip', n::text, 'apns', 'abababababababab', sha256('abababababababab'), now(),
            true, now()
        FROM installation, generate_series(1, \(names)) AS n WHERE install_id = ANY (\(installIDs))
        """
    }

    /// A message with one receipt in the sums and one in the changes.
    fileprivate static let message: [PostgresStatement] = [
        """
        INSERT INTO message (app_id, number, name, labels, created_at, expires_at, receipts_until, is_recorded)
        SELECT id, message_number(now()), 'm', '[]', now(), now() + interval '1 day', now() + interval '1 day', true
        FROM app
        """,
        """
        INSERT INTO receipt (app_id, message, installation, events, added, cell, install_id, handed_out_at)
        SELECT app_id, number, i, 25, 24, 1, 'a', now() FROM message, generate_series(1, 2) AS i
        """,
        "INSERT INTO message_sum SELECT app_id, number, 1, 1, 0, 0, 1, 1, 0 FROM message",
        "INSERT INTO message_minute SELECT app_id, number, now(), 1, 1, 0 FROM message",
        """
        INSERT INTO message_delta
            (app_id, message, cell, minute, targeted, accepted, failed, delivered, opened, dismissed)
        SELECT app_id, number, 1, now(), 1, 0, 0, 1, 1, 0 FROM message
        """,
    ]

    private static let messageDamages = [
        Damage(
            ["receipt-events"], "UPDATE receipt SET added = 32 WHERE installation = 1",
            undone: "UPDATE receipt SET added = 24 WHERE installation = 1"),
        Damage(
            ["receipt-target"], "UPDATE receipt SET handed_out_at = NULL WHERE installation = 1",
            undone: "UPDATE receipt SET handed_out_at = now() WHERE installation = 1"),
        Damage(
            ["message-sums"], "UPDATE message_delta SET opened = 2", undone: "UPDATE message_delta SET opened = 1"),
        Damage(
            ["message-sums"], "UPDATE receipt SET events = 9, added = 8 WHERE installation = 1",
            undone: "UPDATE receipt SET events = 25, added = 24 WHERE installation = 1"),
        Damage(
            ["message-minutes"], "UPDATE message_minute SET delivered = 3",
            undone: "UPDATE message_minute SET delivered = 1"),
        Damage(
            ["signing-key"], "DELETE FROM app_signing_key",
            undone: "INSERT INTO app_signing_key (app_id, number) SELECT id, 1 FROM app"),
    ]

    /// Three numbers were given out; two were dropped, of which one was acknowledged.
    private static func counter(epoch: PostgresSQL) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO notification_counter (app_id, install_id, epoch, last, acknowledged, dropped)
            SELECT app_id, install_id, \(sql: epoch), 3, 1, 2 FROM installation WHERE install_id = 'd'
            """)
    }

    /// - Parameter source: `counted` to add a counter, too.
    private static func notification(number: Int64, in source: PostgresSQL) -> PostgresStatement {
        PostgresStatement(
            """
            WITH counted AS (
                INSERT INTO notification_counter (app_id, install_id, epoch, last, acknowledged, dropped)
                SELECT app_id, install_id, epoch, 3, 1, 2 FROM installation
                WHERE install_id = 'd' AND \(literal: source.text) = 'counted'
                RETURNING app_id, install_id)
            INSERT INTO notification (app_id, install_id, number, payload, posted_at, expires_at)
            SELECT app_id, install_id, \(number), '1', now(), now() + interval '1 day' FROM \(sql: source)
            WHERE install_id = 'd'
            """)
    }

    private static let registryDamages: [Damage] = [
        .update(["token-digest"], "token = token || 'ff'", undone: "token = left(token, -2)"),
        .update(["token-and-state"], "p256dh = 'x'", undone: "p256dh = NULL"),
        .update(
            ["owner-and-session"], "session_expires_at = now() + interval '1 day'",
            undone: "session_expires_at = NULL"),
        .update(
            ["generation"], "registration_generation = generation + 1", undone: "registration_generation = generation"),
        .update(
            ["times"], "last_seen_at = last_seen_at - interval '1 day'",
            undone: "last_seen_at = last_seen_at + interval '1 day'"),
        .update(
            ["times"], "state_changed_at = state_changed_at - interval '9 days'",
            undone: "state_changed_at = state_changed_at + interval '9 days'"),
        .update(
            ["times"], "snapshot_at = snapshot_at - interval '99 days'",
            undone: "snapshot_at = snapshot_at + interval '99 days'", of: "d"),
        .update(["generation"], "epoch = generation + 1", undone: "epoch = generation", of: "d"),
        Damage(
            ["notification-epoch"], counter(epoch: "epoch - 1"), undone: "DELETE FROM notification_counter"),
        Damage(
            ["notification-counter"], notification(number: 3, in: "installation"), undone: "DELETE FROM notification"),
        Damage(
            ["notification-number"], notification(number: 2, in: "counted"),
            undone: """
                WITH gone AS (DELETE FROM notification) DELETE FROM notification_counter
                """),
        Damage(
            ["notification-number"], notification(number: 4, in: "counted"),
            undone: """
                WITH gone AS (DELETE FROM notification) DELETE FROM notification_counter
                """),
        Damage(
            ["notification-counter"],
            """
            INSERT INTO notification_dedup (app_id, install_id, dedup_id, number, previous, expires_at)
            SELECT app_id, install_id, 'x', 1, 0, now() FROM installation WHERE install_id = 'd'
            """,
            undone: "DELETE FROM notification_dedup"),
        .update(["generation"], "revision = -revision", undone: "revision = -revision"),
        Damage(
            ["token-holder"], "UPDATE token_holder SET install_id = NULL WHERE install_id = 'b'",
            undone: """
                UPDATE token_holder h SET install_id = 'b' FROM installation i
                WHERE i.install_id = 'b' AND h.token_sha256 = i.token_sha256
                """),
        Damage(
            ["token-holder"], "UPDATE token_holder SET install_id = 'c' WHERE install_id = 'b'",
            undone: """
                UPDATE token_holder h SET install_id = 'b' FROM installation i
                WHERE i.install_id = 'b' AND h.token_sha256 = i.token_sha256
                """),
        .update(["owner"], "left_at = now()", undone: "left_at = NULL", in: "installation_owner"),
        .update(["owner"], "session_id = 's2'", undone: "session_id = 's1'", of: "d", in: "installation_owner"),
        .update(["registrant"], "registrant = registrant + 1", undone: "registrant = registrant - 1"),
        .update(
            ["app", "token-holder", "rollup-cells", "rollup-recount"], "app_id = app_id + 1000",
            undone: "app_id = app_id - 1000", of: "eventless"),
        Damage(
            ["event-chain"], "UPDATE token_event SET generation_before = generation_before - 1 WHERE event = 'rotated'",
            undone: "UPDATE token_event SET generation_before = generation_before + 1 WHERE event = 'rotated'"),
        .update(["event-matches-row", "rollup-recount"], "state = 'stale'", undone: "state = 'active'"),
        .update(["event-matches-row"], "generation = generation + 1", undone: "generation = generation - 1"),
        .update(["event-matches-row", "owner", "registrant"], "user_id = 'mallory'", undone: "user_id = 'bob'"),
        Damage(
            ["event-without-token"],
            """
            UPDATE token_event SET actor = (SELECT token FROM installation WHERE install_id = 'b')
            WHERE event = 'rotated'
            """,
            undone: "UPDATE token_event SET actor = 'x' WHERE event = 'rotated'"),
        Damage(
            ["event-position", "event-chain"],
            """
            UPDATE token_event SET position = position + 1000000, at = at - interval '2 minutes'
            WHERE event = 'rotated'
            """,
            undone: """
                UPDATE token_event SET position = position - 1000000, at = at + interval '2 minutes'
                WHERE event = 'rotated'
                """),
        Damage(
            ["event-chain"], "UPDATE token_event SET event = 'logoutIgnored' WHERE event = 'rotated'",
            undone: "UPDATE token_event SET event = 'rotated' WHERE event = 'logoutIgnored'"),
        Damage(
            ["snapshot-owner"], "UPDATE settings_snapshot SET install_id = 'gone' WHERE install_id = 'b'",
            undone: "UPDATE settings_snapshot SET install_id = 'b' WHERE install_id = 'gone'"),
        Damage(
            ["snapshot-times"],
            "UPDATE settings_snapshot SET replaced_at = replaced_at + interval '1 hour' WHERE install_id = 'b'",
            undone: """
                UPDATE settings_snapshot SET replaced_at = replaced_at - interval '1 hour' WHERE install_id = 'b'
                """),
        Damage(
            ["session-ended"], Self.end("s1", daysAgo: 399),
            undone: "DELETE FROM session WHERE session_id = 's1'"),
        Damage(
            [], Self.end("s1", daysAgo: 403),
            undone: "DELETE FROM session WHERE session_id = 's1'"),
        Damage(
            ["user-logged-out"],
            """
            INSERT INTO user_guard (app_id, user_sha256, refused_before, refused_number)
            SELECT app_id, sha256('dora'), now(), nextval('change_number') FROM installation WHERE install_id = 'd'
            """,
            undone: "DELETE FROM user_guard WHERE user_sha256 = sha256('dora')"),
        Damage(
            ["installation-logged-out"],
            """
            INSERT INTO installation_logout
            SELECT app_id, 'd', sha256('dora'), 's1', now() FROM installation WHERE install_id = 'd'
            """,
            undone: "DELETE FROM installation_logout"),
        Damage(
            ["user-digest"],
            "INSERT INTO session SELECT app_id, 's2', 'alice', now() FROM installation WHERE install_id = 'd'",
            undone: "DELETE FROM session WHERE session_id = 's2'"),
        Damage(
            ["partitions"],
            """
            DO $$ BEGIN EXECUTE 'ALTER TABLE token_event DETACH PARTITION token_event_'
                || to_char(now() AT TIME ZONE 'UTC' + interval '1 month', 'YYYY_MM'); END $$
            """,
            undone: """
                DO $$ BEGIN
                    EXECUTE 'DROP TABLE token_event_'
                        || to_char(now() AT TIME ZONE 'UTC' + interval '1 month', 'YYYY_MM');
                    PERFORM make_partition(parent, begins_at, ends_at) FROM missing_partitions('1 month');
                END $$
                """),
        Damage(
            ["epoch"], "UPDATE change_epoch SET identity = 'x' || identity",
            undone: "UPDATE change_epoch SET identity = substr(identity, 2)"),
    ]
}

extension TestStores {
    /// Installations that rotated, moved, were deleted and came back, and an installation that is older than its
    /// history.
    fileprivate func prepare() async throws {
        try await register("a", token: "aaaaaaaaaaaaaaaa", as: "alice")
        try await register("a", token: "aaaaaaaaaaaaaaab", as: "alice")
        try await register("b", token: "aaaaaaaaaaaaaaab", as: "bob")
        try await register("c", token: "cccccccccccccccc")
        try await installations.delete(
            Deletion(key: key("c"), requester: .service, precondition: nil, actor: "service:test"))
        try await register("c", token: "cccccccccccccccc")
        try await register("d", token: "dddddddddddddddd", as: "dora", session: "s1")
        // Another snapshot.
        try await register("b", token: "aaaaaaaaaaaaaaab", as: "bob", keychain: "k")
        try await register("eventless", token: "eeeeeeeeeeeeeeee")
        _ = try await sql("DELETE FROM token_event WHERE install_id = 'eventless'")
        for statement in VerifierTests.message { _ = try await sql(statement) }
        _ = try await sql(
            """
            INSERT INTO feedback_breaker (app_id, provider, kind, hour_began, dead, held_since, last_held_at)
            SELECT id, 'apns', 'voip', now(), 0, '2020-01-01', now() FROM app
            """)
        try await waitTwoDays()
    }

    fileprivate func expectBroken(_ names: Set<String>, sourceLocation: SourceLocation = #_sourceLocation) async throws
    {
        let report = try await RegistryVerifier(configuration).verify()
        let broken = report.findings.filter { $0.broken > 0 }
        #expect(Set(broken.map(\.invariant.name)) == names, sourceLocation: sourceLocation)
        #expect(report.isIntact == names.isEmpty, sourceLocation: sourceLocation)
        #expect(broken.allSatisfy { !$0.examples.isEmpty }, sourceLocation: sourceLocation)
    }
}

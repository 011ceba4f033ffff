import PostgresClient
import PushRegistry
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("A session is not reachable from the moment it expires, whatever was folded or swept (R7, R13)")
struct RollUpExpiryTests {
    @Test func count_followsTheClock_whateverWasFolded() async throws {
        try await TestStores.with { stores in
            for number in 10..<20 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
            try await stores.change(
                """
                UPDATE installation SET settings = settings & ~15 | CASE WHEN install_id < 'i18' THEN 2 ELSE 1 END,
                    user_id = 'u', session_id = 's',
                    session_expires_at = now() + (right(install_id, 1)::integer - 5) * interval '1 hour'
                """)
            for _ in 0..<2 {
                for hours in 0...7 { try await stores.expectExact(after: .seconds(3_600 * hours + 60)) }
                try await stores.fold()
            }
            // i10 to i15 have expired and were swept; i18 and i19 are not admitted.
            #expect(try await stores.count("SELECT sum(active - reachable)::bigint FROM rollup_cube") == 8)
            #expect(try await stores.count("SELECT count(*) FROM rollup_expiry") == 2)
            #expect(try await stores.brokenRollUp().isEmpty)
        }
    }

    @Test func counts_areRight_whenADecreaseIsFoldedBeforeItsIncrease() async throws {
        try await TestStores.with { stores in
            try await stores.register("i", token: "aaaaaaaaaaaaaaaa")
            try await stores.change(
                """
                UPDATE installation SET settings = settings & ~15 | 2, user_id = 'u', session_id = 's',
                    session_expires_at = now() - interval '1 hour'
                """)
            try await stores.fold()
            try await stores.change(
                "UPDATE installation SET session_expires_at = session_expires_at - interval '1 day'")
            _ = try await stores.sql(
                """
                UPDATE rollup_delta SET transaction_id = transaction_id + (active + 1) / 2
                WHERE transaction_id >= (SELECT horizon FROM rollup_state)
                """)
            for _ in 0..<4 {
                try await stores.fold(1)
                try await stores.expectExact()
            }
            #expect(try await stores.count("SELECT count(*) FROM rollup_expiry") == 0)
            #expect(try await stores.brokenRollUp().isEmpty)
        }
    }

    @Test func clockThatGoesBack_showsNoTimeBeforeASweep() async throws {
        try await TestStores.with { stores in
            try await stores.register("i", token: "aaaaaaaaaaaaaaaa")
            try await stores.change(
                """
                UPDATE installation SET settings = settings & ~15 | 2, user_id = 'u', session_id = 's',
                    session_expires_at = now() + interval '1 hour'
                """)
            // As if the session had been swept while the clock was a day ahead.
            _ = try await stores.sql("UPDATE rollup_state SET swept_until = now() + interval '1 day'")
            #expect(try await stores.fold()?.expiries == 1)
            try await stores.expectExact()
            let audiences = PostgresAudienceStore(postgres: stores.postgres, limits: AudienceStoreLimits())
            let audience = Audience(app: stores.app.number, filter: .everybody, include: .reachable)
            let result = try await audiences.count(audience, explains: true)
            #expect(result.count == 0 && result.plan?.path == .rollUp)
            #expect(try await audiences.page(audience, from: .start, limit: 10, explains: false).items.isEmpty)
            let key = InstallationKey(app: stores.app.number, installID: try InstallID("i"))
            #expect(try await stores.installations.installation(key)?.unreachableBecause == [.sessionExpired])
            #expect(try await stores.brokenRollUp().isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func massExpiry_neitherStopsFolding_norSlowsCounts() async throws {
        try await TestStores.with { stores in
            try await stores.register("i", token: "aaaaaaaaaaaaaaaa")
            try await stores.change("UPDATE installation SET settings = settings & ~15 | 2")
            // 200,000 sessions in 200 cells: 100,000 expire at one moment, the others each at its own.
            _ = try await stores.sql("DELETE FROM installation")
            _ = try await stores.sql("DELETE FROM rollup_delta")
            try await PostgresSession.withSession(stores.configuration) { try $0.run(script: Self.fleet) }
            _ = try await RollUpRebuild(stores.configuration).run()
            try await stores.expectExact()
            _ = try await stores.sql("UPDATE rollup_state SET swept_until = now() + interval '2 hours'")
            let audiences = PostgresAudienceStore(
                postgres: stores.postgres, limits: AudienceStoreLimits(), cubes: stores.cubes)
            let audience = Audience(app: stores.app.number, filter: .everybody, include: .reachable)
            let start = ContinuousClock.now
            #expect(try await audiences.count(audience, explains: false).count == 0)
            #expect(ContinuousClock.now - start < .seconds(1))
            var sweeps = 0
            while let outcome = try await stores.fold(50_000), outcome.isFull {
                sweeps += 1
                #expect(try await audiences.count(audience, explains: false).count == 0)
            }
            #expect(sweeps == 2)
            #expect(try await stores.count("SELECT count(*) FROM rollup_expiry") == 0)
            try await stores.fold()
            #expect(try await stores.count("SELECT sum(reachable)::bigint FROM rollup_cube") == 0)
            try await stores.expectExact()
        }
    }

    private static let fleet = """
        INSERT INTO installation (app_id, install_id, provider, token, token_sha256, user_id, session_id,
            session_expires_at, state, generation, registration_generation, epoch, revision, created_at, registered_at,
            last_seen_at, state_changed_at, snapshot_at, cell, registration_digest, snapshot_digest, settings,
            device_model, system_name, system_version, locale, languages, time_zone_id, time_zone_offset)
        SELECT (SELECT id FROM app), 'i' || n, 'fcm', 't' || n, sha256(n::text::bytea), 'u' || n, 's' || n,
            now() + interval '1 hour' + (n % 2) * n * interval '1 ms', 'active', 1, 1, 1, 1, now(), now(), now(), now(),
            now(), 0, '', '', 2, 'x', 'Android', (n % 10)::text, 'l' || n % 200, '{}', 'Europe/Berlin', 3600
        FROM generate_series(1, 200000) AS n
        """
}

import PostgresClient
import PushRegistry
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("A session is not reachable from the moment it expires, whatever was folded or swept (R7, R13)", .stores)
struct RollUpExpiryTests {
    private let stores = TestStores.lent!

    @Test func count_followsTheClock_whateverWasFolded() async throws {
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

    @Test func counts_areRight_whenADecreaseIsFoldedBeforeItsIncrease() async throws {
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

    @Test func clockThatGoesBack_showsNoTimeBeforeASweep() async throws {
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
        let audiences = stores.audiences
        let audience = Audience(app: stores.app.number, filter: .everybody, include: .reachable)
        let result = try await audiences.count(audience, explains: true)
        #expect(result.count == 0 && result.plan?.path == .rollUp)
        #expect(try await audiences.page(audience, from: .start, limit: 10, explains: false).items.isEmpty)
        let key = InstallationKey(app: stores.app.number, installID: try InstallID("i"))
        #expect(try await stores.installations.installation(key)?.unreachableBecause == [.sessionExpired])
        #expect(try await stores.brokenRollUp().isEmpty)
    }
}

import EmbeddedPostgres
import Foundation
import Logging
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Rules use PostgreSQL's clock, not the service's", .serialized)
struct ClockTests {
    private static let skew = TimeInterval(3 * 24 * 3_600)

    /// The skewed clock precedes PostgreSQL's own in the search path of new sessions.
    private static let skewing: [PostgresStatement] = [
        "CREATE SCHEMA skewed",
        """
        CREATE FUNCTION skewed.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
        RETURN pg_catalog.statement_timestamp() + interval '3 days'
        """,
        """
        CREATE FUNCTION skewed.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
        RETURN pg_catalog.clock_timestamp() + interval '3 days'
        """,
        """
        CREATE FUNCTION skewed.now() RETURNS timestamptz LANGUAGE sql STABLE
        RETURN pg_catalog.now() + interval '3 days'
        """,
        "ALTER ROLE push_registry SET search_path = skewed, public, pg_catalog",
        ending,
    ]

    private static let ending: PostgresStatement = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND application_name LIKE 'push-registry%'
        """

    @Test func times_arePostgreSQLs_whenClocksDiffer() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            let first = try await app.put("phone", as: "alice")
            for statement in Self.skewing { _ = try await registry.database.rows(statement) }
            // By PostgreSQL's clock it was last seen three days ago, so this registration is recorded.
            try await eventually("the service has new sessions") {
                try await app.put("phone", as: "alice").status == 200
            }
            let record = try await app.get("phone")
            let lastSeen = try #require(record.json["lastSeenAt"].string.flatMap(Self.date))
            let isAhead = lastSeen.timeIntervalSinceNow > Self.skew - 3_600
            #expect(isAhead, "\(lastSeen)")
            #expect(record.generation == first.generation)
        }
    }

    /// It was some hours fast for a moment: a virtual machine resumed, for instance, before its time was set right.
    @Test func user_signsInAgain_afterALogoutUnderAFastClock() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry, policy: UserJWT.policy)
            func signIn(_ session: String?) async throws -> Int {
                try await app.put("phone", by: UserJWT.make("alice", session: session)).status
            }
            // A new installation has the present time.
            func isFast() async throws -> Bool {
                let response = try await app.put("new-\(UInt32.random(in: 0...UInt32.max))", as: "bob")
                let staleAt = response.json["registerAgainBefore"].string.flatMap(Self.date)
                return staleAt.map { $0.timeIntervalSinceNow > Self.skew / 2 + 60 * 24 * 3_600 } ?? false
            }
            #expect(try await signIn("s1") == 201)
            #expect(try await signIn(nil) == 200)
            for statement in Self.skewing { _ = try await registry.database.rows(statement) }
            try await eventually("the service has new sessions") { try await isFast() }
            #expect(try await app.logOut("phone", by: UserJWT.make("alice")).status == 200)
            #expect(try await app.send("POST", "/users/alice/logout").status == 200)
            _ = try await registry.database.rows("ALTER ROLE push_registry RESET search_path")
            _ = try await registry.database.rows(Self.ending)
            try await eventually("the service has new sessions") { try await !isFast() }
            // Until then, a session that was ended may fail a call.
            try await eventually("the user is signed in") { try await signIn(nil) == 200 }
            // What was ended stays ended.
            #expect(try await signIn("s1") == 409)
            #expect(try await signIn("s2") == 200)
        }
    }

    private static func date(_ text: String) -> Date? {
        try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains(".")))
    }
}

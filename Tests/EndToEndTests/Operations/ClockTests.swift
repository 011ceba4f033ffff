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
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND application_name LIKE 'push-registry%'
        """,
    ]

    @Test func timesAndGenerations_arePostgreSQLs_whenClocksDiffer() async throws {
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
            // A new installation's generation begins at PostgreSQL's time in microseconds.
            let new = try #require(try await app.put("tablet", as: "alice").generation)
            #expect(TimeInterval(new) / 1_000_000 > Date().timeIntervalSince1970 + Self.skew - 3_600)
        }
    }

    /// The clock was set back by an hour while no service ran.
    @Test func firstRequest_getsTheLatestTime_afterARestart() async throws {
        let quiet = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        try await ThrowawayCluster.withDatabase(logger: quiet) { cluster in
            func withService(_ body: (Registry) async throws -> Void) async throws {
                try await RegistryService.with(databaseURL: cluster.connectionString) { service in
                    try await Database.with(cluster.connectionString) { database in
                        try await body(Registry(cluster: cluster, service: service, database: database))
                    }
                }
            }
            var path = ""
            try await withService { path = try await RegistryApp.make(in: $0).path }
            for round in 0..<5 {
                let hours = Int64(round + 1)
                try await Database.with(cluster.connectionString) { database in
                    _ = try await database.rows(
                        "UPDATE registry_clock SET latest = now() + \(hours) * interval '1 hour'")
                }
                try await withService { registry in
                    let put = try await registry.send(
                        "PUT", "\(path)/installations/phone-\(round)", RegistrationBody.make("phone-\(round)"))
                    let generation = try #require(put.generation)
                    let ahead = TimeInterval(generation) / 1_000_000 - Date().timeIntervalSince1970
                    #expect(ahead > TimeInterval(hours) * 3_600 - 60, "\(put.text)")
                }
            }
        }
    }

    private static func date(_ text: String) -> Date? {
        try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains(".")))
    }

    /// An issuer's clock may differ by 30 seconds; a minute is too much.
    @Test func usersToken_isAccepted_whenItsIssuersClockIsAheadByLessThanTheLeeway() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry, policy: UserJWT.policy)
            let now = Int(Date().timeIntervalSince1970)
            func status(expired seconds: Int) async throws -> Int {
                let token = UserJWT.make("alice", session: nil, issuedAt: now - 900, expiresAt: now - seconds)
                return try await app.put("phone-\(seconds)", by: token).status
            }
            #expect(try await status(expired: 15) == 201)
            #expect(try await status(expired: 60) == 401)
        }
    }
}

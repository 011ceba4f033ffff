import EmbeddedPostgres
import EventLoop
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("The time of an audience (asOf) is the time of its data")
struct StandbyMomentTests {
    @Test func asOf_standsStill_whenTheStandbyIsCutOff() async throws {
        try await ThrowawayCluster.withStandby(logger: TestStores.quiet) { primary, standby in
            try await migrateDatabase(primary.connectionString)
            try await withMoment(of: standby) { asOf in
                try await eventually {
                    let start = Timestamp.now()
                    return try await asOf() > start
                }
                await primary.kill()
                try await eventually {
                    try await Self.count("SELECT count(*) FROM pg_stat_wal_receiver", on: standby) == 0
                }
                let stopped = Timestamp.now()
                #expect(try await asOf() < stopped)
                await standby.kill()
                try await standby.restart()
                // The pool reconnects.
                try await eventually { (try? await asOf()) != nil }
                #expect(try await asOf() < stopped)
            }
        }
    }

    private func withMoment(
        of server: EmbeddedPostgres, _ body: @escaping @Sendable (() async throws -> Timestamp) async throws -> Void
    ) async throws {
        let loop = EventLoop(name: "audiences")
        defer { loop.stop() }
        let limits = AudienceStoreLimits()
        let postgres = PostgresClient(
            try PostgresConfiguration(server.connectionString, settings: limits.sessionSettings), on: loop,
            limits: limits.pool, logger: TestStores.quiet)
        async let _ = postgres.run()
        let sessions = AudienceSessions(postgres: postgres, limits: limits)
        // The schema arrives.
        try await eventually { (try? await sessions.withMoment(of: AppNumber(1)) { $1.asOf }) != nil }
        try await body { try await sessions.withMoment(of: AppNumber(1)) { $1.asOf } }
    }

    private static func count(_ statement: PostgresStatement, on server: EmbeddedPostgres) async throws -> Int {
        try await PostgresSession.withSession(PostgresConfiguration(server.superuserConnectionString)) { session in
            try session.execute(statement)[0].decode(0)
        }
    }
}

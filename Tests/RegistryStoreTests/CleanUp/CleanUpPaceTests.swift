import PostgresClient
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("The night job works at full speed on a quiet database, and a tenth of the time beside other sessions", .stores)
struct CleanUpPaceTests {
    private let stores = TestStores.lent!

    private func batch() async throws -> Int {
        try await PostgresSession.withSession(stores.configuration) { try CleanUpPace($0).batch }
    }

    /// A busy service's sessions are idle between two statements, but not for long.
    @Test func session_isBusy_alsoBetweenTwoStatements() async throws {
        try await eventually { try await batch() == CleanUpPace.batch(beside: 0) }
        try await eventually {
            _ = try await stores.sql("SELECT 1")
            return try await batch() == CleanUpPace.batch(beside: 1)
        }
    }

    /// The background session of an idle service polls several times a second.
    @Test func backgroundSessionOfAService_isNoLoad() async throws {
        async let work: Void = stores.postgres.withTransaction(timeout: .seconds(60)) { transaction in
            _ = try await transaction.execute(
                PostgresStatement("SELECT set_config('application_name', \(BackgroundSession.name), true)"))
            _ = try await transaction.execute("SET LOCAL statement_timeout = 0")
            _ = try await transaction.execute("SELECT pg_sleep(30)")
        }
        let isWorking = { @Sendable in
            try await stores.count("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == 1
        }
        try await eventually { try await isWorking() }
        try await eventually { try await batch() == CleanUpPace.batch(beside: 0) }
        #expect(try await isWorking())
        _ = try await stores.sql(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
        try? await work
    }

    @Test func job_worksATenthOfTheTime_besideBusySessions() {
        #expect(CleanUpPace.rest(after: .milliseconds(3), beside: 1) == .milliseconds(27))
        #expect(CleanUpPace.rest(after: .seconds(1), beside: 4) == .seconds(2))
        #expect(CleanUpPace.rest(after: .seconds(1), beside: 0) == .zero)
        #expect(CleanUpPace.batch(beside: 1) < CleanUpPace.batch(beside: 0))
    }
}

@Suite("A session of another role counts as busy, because its state is hidden", .store)
struct HiddenSessionTests {
    private let store = StoreUnderTest.lent!

    @Test func session_countsAsBusy_whenItsStateIsHidden() async throws {
        let busySessions = PostgresStatement(CleanUpStatements.busySessions)
        _ = try await store.database.execute("SELECT 1")
        let busy: Int = try await store.pool.execute(busySessions)[0].decode(0)
        #expect(busy > 0)
        try await eventually { try await store.count(busySessions) == 0 }
    }
}

import PostgresClient
import PushRegistry
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("Calls about the apps of a node that hangs do not take the connections of other apps")
struct AppOutagesTests {
    private let near = AppNumber(1)
    private let far = AppNumber(2)
    private let start = ContinuousClock.now
    private var later: ContinuousClock.Instant { start + AppOutages.pause }

    /// - Returns: whether the call was admitted.
    private func call(
        _ app: AppNumber, _ outages: inout AppOutages, at now: ContinuousClock.Instant, _ ending: AppOutages.Ending
    ) -> Bool {
        guard let admission = outages.admit(app, now: now) else { return false }
        outages.end(admission, ending, now: now)
        return true
    }

    @Test func calls_areRefused_afterOneMetItsDeadline() {
        var outages = AppOutages()
        let calls = [
            call(near, &outages, at: start, .hung), call(near, &outages, at: start, .responded),
            call(far, &outages, at: start, .responded),
        ]
        #expect(calls == [true, false, true])
    }

    @Test func oneCall_ofAllTheApps_findsOutWhetherTheNodeResponds() throws {
        var outages = AppOutages()
        for app in [near, far] { _ = call(app, &outages, at: start, .hung) }
        let admitted = outages.admit(near, now: later)
        let probe = try #require(admitted)
        let meanwhile = [near, far].map { call($0, &outages, at: later, .responded) }
        outages.end(probe, .responded, now: later)
        let afterwards = [near, far].map { call($0, &outages, at: later, .responded) }
        #expect(meanwhile == [false, false] && afterwards == [true, true])
    }

    @Test func probe_isRepeated_whenItFailsOrHangs() {
        var outages = AppOutages()
        let calls = [
            call(near, &outages, at: start, .hung), call(near, &outages, at: later, .failed),
            call(near, &outages, at: later, .hung), call(near, &outages, at: later, .responded),
            call(near, &outages, at: later + AppOutages.pause, .responded),
        ]
        #expect(calls == [true, true, true, false, true])
    }
}

@Suite("Every table with rows of apps is distributed, or stays on the coordinator on purpose", .stores)
struct DistributionTablesTests {
    private let stores = TestStores.lent!

    /// Small tables, which requests read only with a cache or by themselves.
    private static let coordinatorTables = [
        "api_key", "app_signing_key", "audit_entry", "cleanup_result", "deleted_topic", "directory_change", "segment",
        "segment_topic", "segment_use", "topic",
    ]

    @Test func tablesWithApps_areListedOnce() async throws {
        let rows = try await stores.postgres.execute(
            """
            SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE a.attname = 'app_id' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                AND c.relnamespace = 'public'::regnamespace ORDER BY 1
            """)
        let tables = try rows.map { try $0.decode(0, as: String.self) }
        #expect(tables == (Distribution.tables + Self.coordinatorTables).sorted())
    }
}

import PostgresClient
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("Every table with rows of apps is distributed, or stays on the coordinator on purpose")
struct DistributionTablesTests {
    /// Small tables, which requests read only with a cache or by themselves.
    private static let coordinatorTables = [
        "api_key", "app_signing_key", "cleanup_result", "deleted_topic", "segment", "segment_topic", "segment_use",
        "topic",
    ]

    @Test func tablesWithApps_areListedOnce() async throws {
        try await TestStores.with { stores in
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
}

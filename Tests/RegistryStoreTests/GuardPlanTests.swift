import PostgresClient
import Testing

@testable import RegistryStore

@Suite("Users and sessions are looked up one by one, also by a session that planned it while there were none")
struct GuardPlanTests {
    @Test(arguments: [
        (GuardStatements.shareUsers, "'{1}', ARRAY[user_digest('7')]"),
        (GuardStatements.shareSessions, "'{1}', '{7}'"),
        (GuardStatements.installationLogouts, "'{1}', '{7}', ARRAY[user_digest('7')], '{7}'"),
    ])
    func lookUp_readsOneRow_whenItWasPlannedOverAnEmptyTable(lookUp: PreparedSQL, values: String) async throws {
        try await TestStores.with { stores in
            let read = try await PostgresSession.withSession(stores.configuration) { session in
                try session.run(script: "ANALYZE")
                // As the service's sessions have it.
                try session.run(
                    script: """
                        SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
                        SET plan_cache_mode = force_generic_plan;
                        PREPARE look_up AS \(lookUp.text);
                        EXECUTE look_up (\(values));
                        INSERT INTO user_guard (app_id, user_sha256)
                        SELECT 1, user_digest(n::text) FROM generate_series(1, 5000) AS n;
                        INSERT INTO session (app_id, session_id, user_sha256)
                        SELECT 1, n::text, user_digest(n::text) FROM generate_series(1, 5000) AS n;
                        INSERT INTO installation_logout (app_id, install_id, user_sha256, session_id, logged_out_at)
                        SELECT 1, n::text, user_digest(n::text), n::text, now() FROM generate_series(1, 5000) AS n
                        """)
                try session.run(script: "BEGIN; EXECUTE look_up (\(values))")
                return try session.execute(
                    """
                    SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
                    FROM pg_stat_xact_user_tables WHERE relname IN ('user_guard', 'session', 'installation_logout')
                    """
                )[0].decode(0, as: Int.self)
            }
            #expect(read == 1)
        }
    }
}

import PostgresClient
import Testing

@Suite("A token is looked up by its index, also in a registry that PostgreSQL has not analyzed yet")
struct TokenPlanTests {
    @Test func token_isFoundByItsIndex_afterTheFirstRegistrations() async throws {
        try await TestStores.with { stores in
            for number in 0..<50 {
                try await stores.register(
                    "phone-\(number)", token: "aaaaaaaaaaaaaa\(number + 10)", as: "user-\(number)")
            }
            let plan = try await PostgresSession.withSession(stores.configuration) { session in
                // As the service's sessions have it.
                try session.run(
                    script: "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off")
                return try session.execute(
                    """
                    EXPLAIN SELECT i.install_id
                    FROM unnest('{1}'::integer[], '{apns}'::text[], '{x}'::bytea[]) AS t (app_id, provider, token_sha256)
                    JOIN installation i ON i.app_id = t.app_id AND i.provider = t.provider::provider
                        AND i.token_sha256 = t.token_sha256
                    """
                ).map { try $0.decode(0, as: String.self) }
            }
            #expect(plan.contains { $0.contains("installation_token") }, "\(plan)")
        }
    }
}

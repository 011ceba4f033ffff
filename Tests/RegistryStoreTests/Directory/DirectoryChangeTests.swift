import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("A change of an app makes a directory read this app again, and no other", .store)
struct DirectoryChangeTests {
    private let store = StoreUnderTest.lent!

    private let now = Timestamp(microseconds: 1_795_000_000_000_000)

    /// Rows of the other app change without a trace: a directory that read them would find them.
    @Test func directory_readsTheChangedAppAlone() async throws {
        let directory = PostgresAppDirectory(postgres: store.pool)
        async let _ = directory.run()
        let (quiet, busy) = (try await app("quiet", of: directory), try await app("busy", of: directory))
        try await directory.add(key("k1", of: quiet))
        let first = try await directory.current()
        try await store.database.withTransaction { transaction in
            _ = try await transaction.execute([
                "SET LOCAL session_replication_role = replica", "UPDATE api_key SET name = 'unread'",
                "UPDATE app SET identity_key = '\\x01'",
            ])
        }

        // Each kind of change, in the order in which the rows of an app are read.
        try await directory.add(key("k2", of: busy))
        let second = try await directory.current()
        #expect(second.keys(of: busy).map(\.id) == ["k2"])
        #expect(second.app(busy) === first.app(busy), "only a key has changed")
        for change: PostgresStatement in [
            "UPDATE app SET policy = '{\"smallestGroup\": 7}' WHERE id = \(busy.rawValue)",
            """
            INSERT INTO topic (app_id, slug, name, is_in, is_locked)
            VALUES (\(busy.rawValue), 'news', 'News', true, false)
            """, "INSERT INTO app_signing_key (app_id, number) VALUES (\(busy.rawValue), 2)",
        ] { _ = try await store.database.execute(change) }
        let third = try await directory.current()
        let changed = try #require(third.app(busy))
        #expect(changed.policy.smallestGroup == 7 && changed.signingKeys.count == 2)
        #expect(changed.topics.topics.count == 1)
        #expect(third.app(quiet) === first.app(quiet))
        #expect(third.keys(of: quiet).map(\.name) == ["k"])
        let isRevoked = try await directory.revokeKey("k2", of: busy)
        #expect(isRevoked)
        let fourth = try await directory.current()
        #expect(fourth.key("k2")?.revokedAt != nil)
        #expect(fourth.keys(of: quiet).map(\.name) == ["k"])

        // A directory that has missed versions reads everything.
        _ = try await store.database.execute("DELETE FROM directory_change")
        let last = try await directory.current()
        #expect(last === fourth, "nothing has changed")
        _ = try await store.database.execute([
            "UPDATE app SET updated_at = now() WHERE id = \(busy.rawValue)", "DELETE FROM directory_change",
        ])
        #expect(try await directory.current().keys(of: quiet).map(\.name) == ["unread"])
    }

    /// Of 1,000 versions, each change has one.
    @Test func changes_areForgotten_whenTheyAreOld() async throws {
        let directory = PostgresAppDirectory(postgres: store.pool)
        async let _ = directory.run()
        let busy = try await app("busy", of: directory)
        let stale = try await directory.current()
        _ = try await store.database.execute(
            """
            INSERT INTO api_key (id, app_id, name, roles, secret_sha256)
            SELECT 'k' || n, \(busy.rawValue), 'k', '{client}', '' FROM generate_series(1, 1100) AS n
            """)
        #expect(try await store.count("SELECT count(*) FROM directory_change") == 1000)
        let current = try await directory.current()
        #expect(current.keys(of: busy).count == 1100 && current.version == stale.version + 1100)
    }

    private func app(_ name: String, of directory: PostgresAppDirectory) async throws -> AppNumber {
        try await directory.put(AppID("com.example.\(name)"), policy: .standard).number
    }

    private func key(_ id: String, of app: AppNumber) -> APIKey {
        APIKey(
            id: id, app: app, name: "k", roles: [.client], secretSHA256: [UInt8](0..<32), createdAt: now,
            revokedAt: nil)
    }
}

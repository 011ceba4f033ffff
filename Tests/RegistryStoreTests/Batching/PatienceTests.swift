import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("Changes by administrators wait for each other, and longer than a batch of registrations may", .store)
struct PatienceTests {
    private let store = StoreUnderTest.lent!

    private let now = Timestamp(microseconds: 1_795_000_000_000_000)

    @Test func keys_areAddedAndRevoked_afterALongChangeOfTheDirectory() async throws {
        let directory = PostgresAppDirectory(postgres: store.pool)
        let app = try await directory.put(AppID("com.example.waits"), policy: .standard)
        let key = APIKey(
            id: "0123456789abcdef", app: app.number, name: "k", roles: [.client], secretSHA256: [UInt8](0..<32),
            createdAt: now, revokedAt: nil)
        let lock: PostgresStatement = "SELECT FROM directory_version FOR UPDATE"
        try await store.database.holding(lock) { try await directory.add(key) }
        try await store.database.holding(lock) {
            let isRevoked = try await directory.revokeKey(key.id, of: app.number)
            #expect(isRevoked)
        }
    }

    @Test func message_isReplaced_afterALongChangeOfIt() async throws {
        let messages = PostgresMessageStore(store.resources)
        let name = try MessageName("spring")
        let app = try await PostgresAppDirectory(postgres: store.pool)
            .put(AppID("com.example.waits"), policy: .standard).number
        _ = try await messages.put(name, MessageContent(), in: app, at: now)
        try await store.database.holding("SELECT FROM message FOR UPDATE") {
            let isNew = try await messages.put(name, MessageContent(), in: app, at: now).isNew
            #expect(!isNew)
        }
    }
}

@Suite("One registration waits for another session that creates its cell, and longer than a batch may", .store)
struct CellPatienceTests {
    private let store = StoreUnderTest.lent!

    @Test(arguments: [
        "INSERT INTO rollup_text (app_id, text) VALUES (1, 'de_DE')",
        """
        WITH added AS (
            INSERT INTO rollup_text (app_id, text, version_key)
            VALUES (1, 'de_DE', NULL), (1, 'Europe/Berlin', NULL), (1, 'iOS', NULL), (1, '26.5', '{26,5}')
            RETURNING text, number),
        numbers AS (SELECT json_object_agg(text, number) AS of FROM added)
        INSERT INTO rollup_cell (app_id, provider, authorization_status, locale_number, zone_number, system_number,
            spelling_number, version_number, time_zone_offset)
        SELECT 1, 'fcm', 'unknown', (of ->> 'de_DE')::bigint, (of ->> 'Europe/Berlin')::bigint,
            (of ->> 'iOS')::bigint, (of ->> '26.5')::bigint, (of ->> '26.5')::bigint, 0
        FROM numbers
        """,
    ])
    func registration_isMade(after creation: String) async throws {
        _ = try await PostgresAppDirectory(postgres: store.pool)
            .put(AppID("com.example.mail"), policy: .standard)
        try await store.database.holding(PostgresStatement(PostgresSQL(trusted: creation))) {
            let outcome = try await store.register(.make("i1"))
            #expect(outcome.status == .created)
        }
        #expect(try await store.count("SELECT count(*) FROM rollup_cell") == 1)
    }
}

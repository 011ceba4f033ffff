import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("The registrations of a batch end as if they had come one by one", .store)
struct BatchTests {
    private let store = StoreUnderTest.lent!

    @Test func tokens_moveAlongAChain_whenEachTakesItsNeighbours() async throws {
        let names = ["A", "B", "C", "D"]
        _ = try await store.writeInOneBatch(names.map { try .make($0, token: "t\($0)") })
        let moved = zip(names, names.dropFirst() + ["A"])
        let outcomes = try await store.writeInOneBatch(moved.map { try .make($0, token: "t\($1)") })
        #expect(outcomes.allSatisfy { $0.status == .updated })
        #expect(try await store.holders() == ["A tB", "B tC", "C tD", "D tA"])
        try await store.expectIntact()
    }

    /// Some apps use one session id for all users of a device.
    @Test func endedSession_staysEnded_whenItsBatchNamesAnotherUserToo() async throws {
        _ = try await store.register(.make("phone", user: "alice", session: "device"))
        _ = try await store.register(.make("phone"))
        _ = try await store.database.execute(
            """
            INSERT INTO user_guard (app_id, user_sha256, refused_before, refused_number)
            VALUES (1, \(UserDigest.sha256(try UserID("alice"))), clock_timestamp(), nextval('change_number'))
            """)
        for users in [["alice", "bob"], ["bob", "alice"]] {
            let outcomes = try await store.writeInOneBatch(
                users.map { try .make("\($0)-after-\(users[0])", user: $0, session: "device") })
            let refused = zip(users, outcomes).filter { $1.status == nil }.map(\.0)
            #expect(refused == ["alice"])
        }
    }

    /// A device of a tester, for instance.
    @Test func reinstall_isRecognised_afterMany() async throws {
        for number in 1...20 {
            _ = try await store.register(.make("phone-\(number)", token: "t", keychain: "device"))
        }
        _ = try await store.register(.make("other", keychain: "device"))
        _ = try await store.register(.make("new", keychain: "device"))
        let replaced = try await store.strings(
            "SELECT install_id FROM installation WHERE probably_replaced_by = 'new' ORDER BY install_id")
        #expect(replaced == ["other", "phone-20"])
    }

    /// The token's row was found, so the first attempt does not add it.
    @Test func token_isAdded_whenTheNightJobHasDeletedItsRowAfterTheLookUp() async throws {
        _ = try await store.register(.make("old", token: "t"))
        _ = try await store.register(.make("old", token: "other"))
        let delete: PostgresStatement = "DELETE FROM token_holder WHERE install_id IS NULL"
        let outcomes = try await store.writeInOneBatch([.make("new", token: "t")]) {
            _ = try await store.database.execute(delete)
        }
        #expect(outcomes.map(\.status) == [.created])
        #expect(try await store.holders() == ["new t", "old other"])
        try await store.expectIntact()
    }

    @Test func batch_isOneTransaction() async throws {
        _ = try await store.writeInOneBatch((0..<100).map { try .make("phone-\($0)") })
        #expect(try await store.count("SELECT count(DISTINCT xmin::text) FROM installation") == 1)
        #expect(try await store.count("SELECT count(*) FROM token_event") == 100)
    }

    @Test func badOne_failsAlone_andItsNeighboursAreWritten() async throws {
        _ = try await store.database.execute(
            "ALTER TABLE installation ADD CONSTRAINT good CHECK (carrier IS DISTINCT FROM 'bad')")
        let outcomes = try await store.registerTogether([
            .make("A"), .make("B", carrier: "bad"), .make("C"),
        ])
        #expect(outcomes.map(\.status) == [.created, nil, .created])
        guard case .failure(StoreError.failed(let text)) = outcomes[1] else {
            Issue.record("\(outcomes[1])")
            return
        }
        #expect(!text.contains("token-of-B"))
        #expect(try await store.strings("SELECT install_id FROM installation ORDER BY 1") == ["A", "C"])
        #expect(try await store.count("SELECT count(*) FROM token_event") == 2)
    }

    /// A batch first writes what concerns no other installation. What fails after it must not be repeated with it.
    @Test func failureOfTheRest_isReported_whenAPartIsWritten() async throws {
        _ = try await store.register(.make("old", token: "t"))
        _ = try await store.registerTogether([.make("A"), .make("B")])
        _ = try await store.database.execute(
            """
            CREATE FUNCTION disk_full() RETURNS boolean LANGUAGE plpgsql AS
            $$ BEGIN RAISE 'no space left on device' USING ERRCODE = 'disk_full'; END $$
            """)
        _ = try await store.database.execute(
            "ALTER TABLE installation ADD CHECK (carrier IS DISTINCT FROM 'bad' OR disk_full())")
        let outcomes = try await store.writeInOneBatch([
            .make("A", carrier: "new"), .make("B", token: "t", carrier: "bad"),
        ])
        #expect(outcomes.map(\.status) == [.updated, nil])
        #expect(throws: StoreError.unavailable) { try outcomes[1].get() }
        #expect(try await store.holders() == ["A token-of-A", "B token-of-B", "old t"])
    }
}

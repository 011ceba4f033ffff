import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("A binding begins with what has happened between its look-up and its locks", .store)
struct BindingTests {
    private let store = StoreUnderTest.lent!

    /// Fine print 65: what waits for the former owner is deleted.
    @Test func notificationsOfTheFormerHolder_areDeleted() async throws {
        _ = try await store.register(.make("old", token: "t"))
        _ = try await store.database.execute(
            "INSERT INTO notification_counter SELECT app_id, install_id, epoch, 1, 0, 0 FROM installation")
        let outcomes = try await store.writeInOneBatch([.make("new", token: "t"), .make("other")])
        #expect(outcomes.map(\.status) == [.created, .created])
        #expect(try await store.count("SELECT count(*) FROM notification_counter") == 0)
        #expect(try await store.holders() == ["new t", "other token-of-other"])
    }

    /// Choices of an installation without a user end with its token.
    @Test func topicChoicesOfTheFormerHolder_areDeleted() async throws {
        _ = try await store.register(.make("old", token: "t"))
        _ = try await store.database.execute("UPDATE installation SET topics = '{1}', topic_choices = '{1}'")
        let outcomes = try await store.writeInOneBatch([.make("new", token: "t"), .make("other")])
        #expect(outcomes.map(\.status) == [.created, .created])
        #expect(try await store.count("SELECT count(*) FROM installation WHERE topic_choices IS NOT NULL") == 0)
    }

    /// R5: a third installation of the device is probably replaced.
    @Test func takeover_marksTheDevicesOtherInstallation_asReplaced() async throws {
        _ = try await store.register(.make("third", token: "u", keychain: "k"))
        _ = try await store.register(.make("old", token: "t", keychain: "k"))
        _ = try await store.database.execute("UPDATE installation SET probably_replaced_by = NULL")
        _ = try await store.writeInOneBatch([.make("new", token: "t", keychain: "k")])
        let replaced = try await store.strings(
            "SELECT install_id || ' ' || probably_replaced_by FROM installation WHERE probably_replaced_by <> ''")
        #expect(replaced == ["third new"])
    }

    @Test func token_isTakenByOne_whenTwoOfABatchClaimIt() async throws {
        _ = try await store.register(.make("old", token: "t"))
        let outcomes = try await store.writeInOneBatch([.make("new", token: "t"), .make("newer", token: "t")])
        #expect(outcomes.map(\.status) == [.created, .created])
        #expect(try await store.holders() == ["newer t"])
        try await store.expectIntact()
    }

    /// The look-up has found neither the installation nor the token.
    @Test func token_isTakenByOne_whenAnotherClaimsItAfterTheLookUp() async throws {
        let outcomes = try await store.writeInOneBatch([.make("new", token: "t")]) {
            _ = try await store.register(.make("rival", token: "t"))
        }
        #expect(outcomes.map(\.status) == [.created])
        #expect(try await store.holders() == ["new t"])
        try await store.expectIntact()
    }

    /// The look-up has found the token with `phone`, which loses it to `next`. The batch locks the token, because
    /// `next` leaves it, but `rival` takes it while the batch waits for the lock.
    @Test func token_isTakenFromItsHolder_whenTheBatchLocksItForAnotherReason() async throws {
        _ = try await store.register(.make("phone", token: "t", user: "alice"))
        _ = try await store.register(.make("next", token: "u"))
        _ = try await store.register(.make("rival", token: "r"))
        let batch = try await store.find([.make("next", token: "v"), .make("phone", token: "t", user: "bob")])
        _ = try await store.register(.make("next", token: "t"))
        try await store.database.holding("SELECT FROM token_holder WHERE token_sha256 = sha256('t') FOR UPDATE") {
            let writer = RegistrationWriter(postgres: store.pool, cells: store.resources.cells)
            let outcomes: [Outcome] = try await writer.write(batch, .alone)
            #expect(outcomes.map(\.status) == [.updated, .updated])
        } meanwhile: { holder in
            _ = try await holder.execute([
                """
                UPDATE installation SET token = NULL, token_sha256 = NULL, state = 'superseded',
                    generation = generation + 1, revision = revision + 1 WHERE install_id = 'next'
                """,
                """
                UPDATE installation SET token = 't', token_sha256 = sha256('t'), generation = generation + 1,
                    revision = revision + 1 WHERE install_id = 'rival'
                """,
                """
                UPDATE token_holder SET install_id = CASE WHEN token_sha256 = sha256('t') THEN 'rival' END
                WHERE install_id IN ('next', 'rival')
                """,
            ])
        }
        #expect(try await store.holders() == ["next v", "phone t"])
        try await store.expectIntact(["token-holder"])
    }

    @Test func installation_isUpdated_whenItIsCreatedAfterTheLookUp() async throws {
        let outcomes = try await store.writeInOneBatch([.make("phone", token: "o"), .make("other")]) {
            _ = try await store.register(.make("phone", token: "mine"))
        }
        #expect(outcomes.map(\.status) == [.updated, .created])
        #expect(try await store.holders() == ["other token-of-other", "phone o"])
        try await store.expectIntact()
    }

    /// Two installations get other users, and something concerns the first one after the look-up.
    ///
    /// - Returns: its outcome.
    private func rebind(after change: PostgresStatement) async throws -> Outcome {
        _ = try await store.register(.make("phone", user: "alice", session: "a"))
        _ = try await store.register(.make("other", user: "carol"))
        let outcomes = try await store.writeInOneBatch(
            [.make("phone", user: "bob", session: "b"), .make("other", user: "dora")]
        ) { _ = try await store.database.execute(change) }
        #expect(outcomes[1].status == .updated)
        #expect(try await store.strings("SELECT user_id FROM installation WHERE install_id = 'other'") == ["dora"])
        try await store.expectIntact()
        return outcomes[0]
    }

    @Test func binding_isRefused_whenItsSessionHasEnded() async throws {
        let end: PostgresStatement = """
            INSERT INTO session (app_id, session_id, recorded_at, ended_at)
            VALUES (1, 'b', clock_timestamp(), clock_timestamp())
            """
        let outcome = try await rebind(after: end)
        #expect(throws: RegistrationRefusal.sessionEnded) { try outcome.get() }
        #expect(try await store.strings("SELECT user_id FROM installation WHERE install_id = 'phone'") == ["alice"])
    }

    @Test func notificationsOfTheFormerOwner_areDeleted() async throws {
        let post: PostgresStatement = """
            INSERT INTO notification_counter SELECT app_id, install_id, epoch, 1, 0, 0 FROM installation
            WHERE install_id = 'phone'
            """
        #expect(try await rebind(after: post).status == .updated)
        #expect(try await store.count("SELECT count(*) FROM notification_counter") == 0)
    }

    @Test func installation_inheritsTheChoicesOfItsNewUser() async throws {
        let choose: PostgresStatement = """
            INSERT INTO user_guard (app_id, user_sha256, topics) SELECT 1, sha256('bob'), '{1}'
            """
        #expect(try await rebind(after: choose).status == .updated)
        let topics = try await store.strings("SELECT topics::text FROM installation WHERE install_id = 'phone'")
        #expect(topics == ["{1}"])
    }
}

@Suite("Transactions lock rows in the order of their keys, so that none waits for another in a circle", .store)
struct LockOrderTests {
    private let store = StoreUnderTest.lent!

    /// While another transaction has the first token, the statement waits for it and has locked no later one.
    @Test func tokensOfInstallations_areLockedInTheOrderOfTheirKeys() async throws {
        let names = ["a", "b", "c", "d"]
        for name in names { _ = try await store.register(.make(name)) }
        let lock = HolderStatements.lock(of: try names.map { try InstallID($0) }, in: AppNumber(1))
        try await store.database.holding(
            "SELECT FROM token_holder ORDER BY provider, token_sha256 LIMIT 1 FOR UPDATE"
        ) {
            _ = try await store.database.withTransaction { try await $0.execute([lock]) }
        } meanwhile: { _ in
            let free = try await store.database.execute("SELECT FROM token_holder FOR UPDATE SKIP LOCKED")
            #expect(free.count == names.count - 1)
        }
    }
}

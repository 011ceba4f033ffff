import Locking
import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("Installations that get another owner in one trip, with the same token")
struct OwnerChangeTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let before: [@Sendable () throws -> Registration]
        let after: @Sendable () throws -> Registration
    }

    private static let cases = [
        Case(testDescription: "a login", before: [{ try .make("phone") }]) {
            try .make("phone", user: "alice", session: "a")
        },
        Case(testDescription: "another user", before: [{ try .make("phone", user: "alice", session: "a") }]) {
            try .make("phone", user: "bob", session: "b")
        },
        Case(testDescription: "another session", before: [{ try .make("phone", user: "alice", session: "a") }]) {
            try .make("phone", user: "alice", session: "b")
        },
        Case(testDescription: "no session", before: [{ try .make("phone", user: "alice", session: "a") }]) {
            try .make("phone", user: "alice")
        },
        Case(testDescription: "no user", before: [{ try .make("phone", user: "alice", session: "a") }]) {
            try .make("phone")
        },
        Case(
            testDescription: "a user who returns",
            before: [
                { try .make("phone", user: "alice", session: "a") }, { try .make("phone", user: "bob", session: "b") },
            ]
        ) { try .make("phone", user: "alice", session: "c") },
    ]

    /// The rules of `LockedInstallations` say what is written; the statements in one trip must write the same.
    @Test(arguments: cases)
    func change_writesWhatTheRulesDecide(_ test: Case) async throws {
        let inOneTrip = Locked<(rows: [String], generation: Int64, epoch: Int64)>(([], 0, 0))
        try await withStore { store in
            for registration in test.before { _ = try await store.register(registration()) }
            let batch = try await store.find([test.after()])
            guard case .boundToOther = batch[0].finding else {
                return #expect(Bool(false), "found as \(batch[0].finding)")
            }
            let outcome = try #require(try await store.writeInOneTrip(batch)[0])
            #expect(outcome.status == .updated && outcome.userID == batch[0].registration.owner?.userID)
            try await store.expectCompleteHistory()
            let rows = try await store.contents()
            let lengths = try await store.lengths(outcome)
            inOneTrip.withLock { $0 = (rows, lengths.generation, lengths.epoch) }
        }
        try await withStore { store in
            for registration in test.before { _ = try await store.register(registration()) }
            let outcomes = try await store.writeUnderLocks(store.find([test.after()]))
            let lengths = try await store.lengths(outcomes[0].get())
            let expected = inOneTrip.withLock { $0 }
            #expect(try await store.contents() == expected.rows)
            #expect(lengths == (expected.generation, expected.epoch))
        }
    }

    /// Another session makes a change, and commits while the write waits for it.
    @Test func change_isNotWritten_whenTheInstallationChangesMeanwhile() async throws {
        try await withStore { store in
            _ = try await store.register(.make("phone", user: "alice"))
            let batch = try await store.find([.make("phone", user: "bob")])
            let written = try await store.database.withTransaction { transaction in
                _ = try await transaction.execute("UPDATE installation SET revision = revision + 1")
                async let outcomes = store.writeInOneTrip(batch)
                try await eventually { try await store.waitingSessions() > 0 }
                try await transaction.commit()
                return try await outcomes.count
            }
            #expect(written == 0)
            #expect(try await store.strings("SELECT user_id FROM installation") == ["alice"])
            #expect(try await store.strings("SELECT user_id FROM installation_owner") == ["alice"])
            #expect(try await store.count("SELECT count(*) FROM token_event") == 1)
        }
    }

    /// The logout has locked the installation and waits for another session; the write waits for the logout.
    @Test func change_isNotWritten_whenALogoutThatChangesNothingCommitsMeanwhile() async throws {
        try await withStore { store in
            let signIn = try Registration.make("phone", user: "alice", session: "s1")
            _ = try await store.register(.make("phone"))
            let batch = try await store.find([signIn])
            let logout = Logout(
                key: InstallationKey(app: AppNumber(1), installID: try InstallID("phone")),
                requester: .user(try #require(signIn.owner), credentialIssuedAt: nil), keepsAnonymous: false,
                precondition: nil, actor: "service:test")
            let writer = LogoutWriter(postgres: store.pool, clock: store.resources.clock)
            let (loggedOut, written) = try await store.database.withTransaction { other in
                _ = try await other.execute("LOCK TABLE installation_logout IN SHARE MODE")
                async let logouts = writer.write([PendingLogout(logout: logout)], .alone)
                try await eventually { try await store.waitingSessions() == 1 }
                async let outcomes = store.writeInOneTrip(batch)
                try await eventually { try await store.waitingSessions() == 2 }
                try await other.commit()
                return (try await logouts[0].get(), try await outcomes)
            }
            #expect(loggedOut.status == .alreadyLoggedOut && written.isEmpty)
            guard case .failure(RegistrationRefusal.sessionEnded) = try await store.writeUnderLocks(batch)[0] else {
                return #expect(Bool(false), "the session was logged out")
            }
            #expect(try await store.strings("SELECT user_id FROM installation WHERE user_id IS NOT NULL").isEmpty)
        }
    }

    /// Those of a batch that the one trip leaves alone are written under locks, and the others are not held up.
    private func writeBeside(
        _ change: PostgresStatement, _ body: @escaping @Sendable (StoreUnderTest, [Outcome]) async throws -> Void
    ) async throws {
        try await withStore { store in
            _ = try await store.register(.make("phone", user: "alice", session: "a"))
            _ = try await store.register(.make("other", user: "carol"))
            let outcomes = try await store.writeInOneBatch(
                [.make("phone", user: "bob", session: "b"), .make("other", user: "dora")]
            ) { _ = try await store.database.execute(change) }
            #expect(outcomes[1].status == .updated)
            #expect(try await store.strings("SELECT user_id FROM installation WHERE install_id = 'other'") == ["dora"])
            try await body(store, outcomes)
            try await store.expectCompleteHistory()
        }
    }

    @Test func change_isRefused_whenItsSessionHasEnded() async throws {
        let end: PostgresStatement = """
            INSERT INTO session (app_id, session_id, seen_at, ended_at)
            VALUES (1, 'b', clock_timestamp(), clock_timestamp())
            """
        try await writeBeside(end) { store, outcomes in
            guard case .failure(RegistrationRefusal.sessionEnded) = outcomes[0] else {
                return #expect(Bool(false), "\(outcomes[0])")
            }
            let users = try await store.strings("SELECT user_id FROM installation WHERE install_id = 'phone'")
            #expect(users == ["alice"])
        }
    }

    @Test func notificationsOfTheFormerOwner_areDeleted() async throws {
        let post: PostgresStatement = """
            INSERT INTO notification_counter SELECT app_id, install_id, epoch, 1, 0, 0 FROM installation
            WHERE install_id = 'phone'
            """
        try await writeBeside(post) { store, outcomes in
            #expect(outcomes[0].status == .updated)
            let counters = try await store.count("SELECT count(*) FROM notification_counter")
            #expect(counters == 0)
        }
    }

    @Test func installation_inheritsTheChoicesOfItsNewUser() async throws {
        let choose: PostgresStatement = """
            INSERT INTO user_guard (app_id, user_sha256, added_at, topics)
            SELECT 1, sha256('bob'), clock_timestamp(), '{1}'
            """
        try await writeBeside(choose) { store, outcomes in
            #expect(outcomes[0].status == .updated)
            let topics = try await store.strings("SELECT topics::text FROM installation WHERE install_id = 'phone'")
            #expect(topics == ["{1}"])
        }
    }

    @Test func installation_losesTheChoicesOfItsFormerUser() async throws {
        try await withStore { store in
            _ = try await store.register(.make("phone", user: "alice"))
            _ = try await store.database.execute("UPDATE installation SET topics = '{1}'")
            let written = try await store.writeInOneTrip(store.find([.make("phone", user: "bob")]))
            #expect(written.count == 1)
            #expect(try await store.count("SELECT count(*) FROM installation WHERE topics IS NOT NULL") == 0)
            let deltas = try await store.strings(
                "SELECT sum(installations)::text FROM rollup_delta WHERE topic = 1 GROUP BY topic")
            #expect(deltas == ["-1"])
        }
    }

    @Test func change_isNotDecidedInOneTrip_whenTheInstallationHasChoices_orAnotherSnapshot() async throws {
        try await withStore { store in
            _ = try await store.register(.make("phone", user: "alice"))
            let moved = try await store.find([.make("phone", user: "bob", carrier: "c")])
            _ = try await store.database.execute("UPDATE installation SET topics = '{1}', topic_choices = '{1}'")
            let chosen = try await store.find([.make("phone", user: "bob")])
            for pending in moved + chosen {
                guard case .holder = pending.finding else {
                    Issue.record("found as \(pending.finding)")
                    continue
                }
            }
        }
    }
}

extension StoreUnderTest {
    /// An outcome's generation and epoch, since the beginning of the one installation's life.
    fileprivate func lengths(_ outcome: RegistrationOutcome) async throws -> (generation: Int64, epoch: Int64) {
        let first = try await database.execute("SELECT min(generation_after) FROM token_event")[0]
            .decode(0, as: Int64.self)
        return (outcome.generation - first, outcome.epoch - first)
    }
}

import Basics
import Crypto
import EventLoop
import Logging
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("Everything that moves a token races with everything else, and the registry stays whole")
struct MixedRaceTests {
    /// Takeovers beside rotations, logouts, deletions, feedback, erasures and user-wide logouts, by several services,
    /// while a reader follows the change feed.
    @Test(arguments: [1, 2, 4]) func noClientSeesAnError_andTheFeedHasEachStepOnceAndInOrder(
        services count: Int
    ) async throws {
        try await withServices(count) { services in
            let isDone = Flag()
            async let followed = services[0].follow(until: isDone)
            try await atOnce(0..<48) { client in
                var dice = SeededGenerator(seed: UInt64(client))
                for _ in 0..<25 { try await services[client % count].step(&dice) }
            }
            isDone.set()
            let events = try await followed
            try await services[0].store.expectIntact()
            let stored = try await services[0].store.count("SELECT count(*) FROM token_event")
            #expect(events.count == Int(stored) && Set(events.map(\.cursor.id)).count == events.count)
            var reached: [String: Int64] = [:]
            for event in events {
                let installID = try #require(event.installID)
                let before = event.generationBefore == 0 ? 0 : reached[installID, default: 0]
                #expect(event.generationBefore == before, "\(installID): \(event.kind)")
                reached[installID] = event.generationAfter
            }
        }
    }

    /// R7. Whichever comes first, both are acknowledged or the sign-in is refused.
    @Test(arguments: [1, 2, 4]) func phone_isNotBound_afterALogoutThatRacedWithItsSignIn(
        services count: Int
    ) async throws {
        try await withServices(count) { services in
            let phones = (0..<256).map { "phone-\($0)" }
            let anonymous = try await services[0].store.registerTogether(phones.map { try .make($0) })
            #expect(anonymous.allSatisfy { $0.status == .created })
            for (number, phone) in phones.enumerated() {
                async let signIn: Void = services[number % count].signIn(phone, as: "alice", session: "s1")
                async let logout: Void = services[(number + 1) % count].logOut(phone, "alice", session: "s1")
                _ = try await (signIn, logout)
            }
            let bound = try await services[0].store.strings("SELECT install_id FROM installation WHERE user_id <> ''")
            #expect(bound.isEmpty, "\(bound.count) of \(phones.count)")
        }
    }

    /// R7. The logout reads its time, and then waits for another one that excepts the session at a later time.
    @Test func logoutOfAUser_endsASession_thatAConcurrentLogoutExcepted() async throws {
        try await withServices(1) { services in
            let (store, users) = (services[0].store, services[0].users)
            for session in ["s1", "s2"] { try await services[0].signIn("phone", as: "alice", session: session) }
            let (app, digest) = (AppNumber(1).rawValue, UserDigest.sha256(try UserID("alice")))
            try await store.database.withTransaction { other in
                _ = try await other.execute([LockBuckets(users: [digest], in: AppNumber(1)).exclusive])
                async let loggedOut = users.end(
                    SessionEnd(app: AppNumber(1), scope: .user(UserID("alice"), except: nil), actor: "service:test"))
                try await eventually { try await store.waitingSessions() == 1 }
                _ = try await other.execute([
                    PostgresStatement(GuardStatements.refuseUser, app, digest),
                    PostgresStatement(GuardStatements.keepSession, app, digest, "s1"),
                ])
                try await other.commit()
                #expect(try await loggedOut == 1)
            }
            try await services[0].signIn("phone", as: "alice", session: "s1")
            #expect(try await store.strings("SELECT user_id FROM installation WHERE user_id <> ''").isEmpty)
        }
    }

    @Test func lastSeenOf_manyInstallations_areLoggedOut_inSeveralTransactions() async throws {
        try await withServices(1) { services in
            let count = 2 * Int(PostgresUserStore.installationsPerTransaction) + 300
            for start in stride(from: 0, to: count, by: 500) {
                let outcomes = try await services[0].store.registerTogether(
                    (start..<min(start + 500, count)).map { try .make("kiosk-\($0)", user: "kiosk") })
                #expect(outcomes.allSatisfy { $0.status == .created })
            }
            let ended = try await services[0].users.end(
                SessionEnd(app: AppNumber(1), scope: .user(UserID("kiosk"), except: nil), actor: "service:test"))
            #expect(ended == count)
            let receipt = try await services[0].users.erase(
                Erasure(app: AppNumber(1), userID: UserID("kiosk"), actor: "service:test"))
            #expect(receipt.installations == count && receipt.snapshots == count)
            #expect(try await services[0].store.count("SELECT count(*) FROM installation_owner") == 0)
            #expect(
                try await services[0].store.count(
                    "SELECT count(*) FROM token_event WHERE user_id = 'kiosk' OR previous_user_id = 'kiosk'") == 0)
        }
    }

    /// The second transaction of three waits; the third one finds the new binding.
    @Test func userStaysSignedIn_whoSignsInDuringALogoutOfManyInstallations() async throws {
        try await withServices(1) { services in
            let (store, users) = (services[0].store, services[0].users)
            for start in stride(from: 0, to: 2_400, by: 400) {
                _ = try await store.registerTogether(
                    (start..<start + 400).map { try .make("kiosk-\($0)", user: "kiosk") })
            }
            try await store.database.holding(
                """
                SELECT FROM installation WHERE install_id = (
                    SELECT install_id FROM installation ORDER BY install_id OFFSET 1500 LIMIT 1) FOR UPDATE
                """,
                {
                    let end = try SessionEnd(app: AppNumber(1), scope: .user(UserID("kiosk"), except: nil), actor: "t")
                    #expect(try await users.end(end) == 2_400)
                },
                meanwhile: { _ in _ = try await store.register(.make("new", user: "kiosk")) })
            #expect(try await store.strings("SELECT install_id FROM installation WHERE user_id = 'kiosk'") == ["new"])
        }
    }

    /// An installation of the first transaction is deleted while the logout waits for its lock.
    @Test(arguments: [false, true]) func logout_reachesAllInstallations_whenOneIsDeletedMeanwhile(
        ofSession isSession: Bool
    ) async throws {
        try await withServices(1) { services in
            let (store, users) = (services[0].store, services[0].users)
            let count = Int(PostgresUserStore.installationsPerTransaction) + 200
            for start in stride(from: 0, to: count, by: 400) {
                _ = try await store.registerTogether(
                    (start..<start + 400).map { try .make("kiosk-\($0)", user: "kiosk", session: "s") })
            }
            let scope: SessionEnd.Scope =
                isSession ? .session(try SessionID("s")) : .user(try UserID("kiosk"), except: nil)
            try await store.database.holding("DELETE FROM installation WHERE install_id = 'kiosk-1'") {
                _ = try await users.end(SessionEnd(app: AppNumber(1), scope: scope, actor: "service:test"))
            }
            #expect(try await store.count("SELECT count(*) FROM installation WHERE user_id IS NOT NULL") == 0)
        }
    }

    /// R7. The erasure comes after the logout, so no exception outlives it, although the erasure began earlier.
    @Test func erasure_endsTheSessionThatALogoutExcepted_whileItWaitedForTheLogout() async throws {
        try await withServices(1) { services in
            let (store, users) = (services[0].store, services[0].users)
            _ = try await store.register(.make("phone", user: "alice", session: "s1"))
            let digest = UserDigest.sha256(try UserID("alice"))
            try await store.database.holding(
                LockBuckets(users: [digest], in: AppNumber(1)).exclusive,
                {
                    _ = try await users.erase(
                        Erasure(app: AppNumber(1), userID: UserID("alice"), actor: "service:test"))
                },
                meanwhile: { logout in
                    _ = try await logout.execute([
                        PostgresStatement(GuardStatements.refuseUser, Int32(1), digest),
                        PostgresStatement(GuardStatements.keepSession, Int32(1), digest, "kept"),
                    ])
                })
            let kept = try await store.count(
                """
                SELECT count(*) FROM session JOIN user_guard USING (app_id, user_sha256)
                WHERE kept_number >= refused_number
                """)
            #expect(kept == 0)
        }
    }

    private func withServices(
        _ count: Int, _ body: @escaping @Sendable ([RacingService]) async throws -> Void
    ) async throws {
        try await withStores(count) { stores in
            let services = stores.map(RacingService.init)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for service in services { group.addTask { await service.users.run() } }
                try await body(services)
                group.cancelAll()
                try await group.waitForAll()
            }
        }
    }
}

/// The stores of one service, and what a client does at random.
private struct RacingService: Sendable {
    let store: StoreUnderTest
    let users: PostgresUserStore
    let installations: PostgresInstallationStore
    let feedback: PostgresFeedbackStore
    let events: PostgresEventStore

    private static let app = AppNumber(1)

    init(_ store: StoreUnderTest) {
        self.store = store
        users = PostgresUserStore(store.resources)
        installations = PostgresInstallationStore(store.resources)
        feedback = PostgresFeedbackStore(store.resources)
        events = PostgresEventStore(store.resources)
    }

    func step(_ dice: inout SeededGenerator) async throws {
        let installID = "phone-\(dice.below(24))"
        let user = "user-\(dice.below(6))"
        switch dice.below(20) {
        case 0..<11: try await register(installID, token: "token-\(dice.below(8))", user: user)
        case 11, 12: try await register(installID, token: "own-\(installID)-\(dice.below(3))", user: user)
        case 13, 14: try await logOut(installID, user)
        case 15: try await remove(installID)
        case 16, 17: try await judge("token-\(dice.below(8))")
        case 18:
            _ = try await users.end(
                SessionEnd(app: Self.app, scope: .user(UserID(user), except: nil), actor: "service:test"))
        default: _ = try await users.erase(Erasure(app: Self.app, userID: UserID(user), actor: "service:test"))
        }
    }

    private func register(_ installID: String, token: String, user: String) async throws {
        _ = try await store.register(.make(installID, token: token, user: user))
    }

    /// A refusal says that the session has ended.
    func signIn(_ installID: String, as user: String, session: String) async throws {
        do {
            _ = try await store.register(.make(installID, user: user, session: session))
        } catch RegistrationRefusal.sessionEnded {}
    }

    /// For any user it is bound to; a refusal changes nothing.
    func logOut(_ installID: String, _ user: String, session: String? = nil) async throws {
        let session = try session.map { Owner.Session(id: try SessionID($0), expiresAt: nil) }
        let logout = Logout(
            key: InstallationKey(app: Self.app, installID: try InstallID(installID)),
            requester: .user(Owner(userID: try UserID(user), session: session), credentialIssuedAt: nil),
            keepsAnonymous: false, precondition: nil, actor: "service:test")
        do { _ = try await users.logOut(logout) } catch is Logout.Refusal {}
    }

    private func remove(_ installID: String) async throws {
        try await installations.delete(
            Deletion(
                key: InstallationKey(app: Self.app, installID: try InstallID(installID)), requester: .service,
                precondition: nil, actor: "service:test"))
    }

    private func judge(_ token: String) async throws {
        let address = TokenAddress(
            app: Self.app, provider: .fcm, sha256: Array(SHA256.hash(data: Array(token.utf8))))
        let item = FeedbackItem(
            installID: nil, provider: .fcm, addresses: [address], reason: "UNREGISTERED", at: nil)
        let app = App(number: Self.app, id: try AppID("com.example.mail"), policy: .standard)
        _ = try await feedback.apply(Feedback(of: app, items: [item], actor: "sender:test"))
    }

    /// Reads the change feed until the writers are done and there is nothing left.
    func follow(until isDone: Flag) async throws -> [RecordedEvent] {
        var followed: [RecordedEvent] = []
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            let wasDone = isDone.isSet
            let page = try await events.changes(of: Self.app, after: followed.last?.cursor, limit: 50)
            followed += page
            if wasDone, page.isEmpty { return followed }
        }
        throw DeadlineMissed("the feed does not end")
    }
}

/// Set once, by any thread.
final class Flag: Sendable {
    private let state = Locked(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() { state.withLock { $0 = true } }
}

import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite(
    "A logout of a user ends the sessions that were bound before it, also those that left their installations (R7)",
    .store)
struct LeftSessionTests {
    private let store = StoreUnderTest.lent!

    /// How the session `s` of `alice` leaves `phone`.
    enum Leaving: CaseIterable {
        case otherSession, otherUser, noUser, logout, deletion

        func leave(_ store: StoreUnderTest) async throws {
            let key = InstallationKey(app: AppNumber(1), installID: try InstallID("phone"))
            switch self {
            case .otherSession: _ = try await store.register(.make("phone", user: "alice", session: "s2"))
            case .otherUser: _ = try await store.register(.make("phone", user: "bob", session: "b"))
            case .noUser: _ = try await store.register(.make("phone"))
            case .logout:
                let owner = Owner(
                    userID: try UserID("alice"), session: Owner.Session(id: try SessionID("s"), expiresAt: nil))
                let logout = Logout(
                    key: key, requester: .user(owner, credentialIssuedAt: nil), keepsAnonymous: false,
                    precondition: nil, actor: "service:test")
                _ = try await store.pool.withTransaction { try await Logout.write([logout], .alone, $0) }[0].get()
            case .deletion:
                try await PostgresInstallationStore(store.resources).delete(
                    Deletion(key: key, requester: .service, precondition: nil, actor: "service:test"))
            }
        }
    }

    private func logOutAlice(_ store: StoreUnderTest) async throws {
        _ = try await PostgresUserStore(store.resources).end(
            SessionEnd(app: AppNumber(1), scope: .user(UserID("alice"), except: nil), actor: "service:test"))
    }

    private func signIn(_ installID: String, session: String, _ store: StoreUnderTest) async throws -> Bool {
        do {
            _ = try await store.register(.make(installID, user: "alice", session: session))
            return true
        } catch RegistrationRefusal.sessionEnded {
            return false
        }
    }

    @Test(arguments: Leaving.allCases) func session_isEnded_whenItLeftBefore(_ leaving: Leaving) async throws {
        #expect(try await signIn("phone", session: "s", store))
        try await leaving.leave(store)
        try await logOutAlice(store)
        #expect(try await signIn("tablet", session: "s", store) == false)
        #expect(try await signIn("tablet", session: "new", store))
    }

    @Test(arguments: Leaving.allCases) func session_isNotEnded_whenItBeganAfterwards(_ leaving: Leaving) async throws {
        try await logOutAlice(store)
        #expect(try await signIn("phone", session: "s", store))
        try await leaving.leave(store)
        #expect(try await signIn("tablet", session: "s", store))
    }

    /// Nor has its user.
    @Test func session_hasNoRow_whileItIsBound() async throws {
        #expect(try await signIn("phone", session: "s", store))
        #expect(try await signIn("tablet", session: "s", store))
        #expect(try await store.count("SELECT count(*) FROM session") == 0)
        #expect(try await store.count("SELECT count(*) FROM user_guard") == 0)
        try await logOutAlice(store)
        #expect(try await store.strings("SELECT session_id FROM session WHERE ended_at IS NOT NULL") == ["s"])
    }
}

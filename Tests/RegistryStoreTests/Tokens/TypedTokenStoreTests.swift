import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("Typed tokens have one holder, and the same set is not read again")
struct TypedTokenStoreTests {
    private static let bytes: [UInt8] = Array(repeating: 1, count: 16)

    /// Registrations with tokens, calls about one of them, logouts and deletions, by several services.
    @Test(arguments: [1, 3]) func token_hasOneHolder_howeverManyRaceForIt(services count: Int) async throws {
        try await withStores(count) { stores in
            try await atOnce(0..<32) { client in
                var dice = SeededGenerator(seed: UInt64(client))
                for _ in 0..<30 { try await stores[client % count].race(&dice) }
            }
            let store = stores[0]
            try await store.expectIntact(["typed-token", "event-"])
            #expect(try await store.count("SELECT count(*) FROM typed_token") > 0)
            #expect(try await store.count("SELECT count(*) FROM token_event WHERE event = 'tokenMoved'") > 100)
            let shared = try await store.strings(
                """
                SELECT kind || ' ' || string_agg(install_id, ' ') FROM typed_token
                GROUP BY kind, token_sha256 HAVING count(DISTINCT install_id) > 1
                """)
            #expect(shared.isEmpty)
        }
    }

    /// All of them want the same token, in transactions that run at the same time.
    @Test func lastOneHasTheToken_andEachOtherOneAnEvent() async throws {
        try await withStores(4) { stores in
            let phones = (0..<64).map { "phone-\($0)" }
            try await atOnce(phones.enumerated()) { number, phone in
                _ = try await stores[number % 4].register(try .apns(phone, tokens: [.make(.voip, "shared")]))
            }
            #expect(try await stores[0].count("SELECT count(*) FROM typed_token") == 1)
            let moved = try await stores[0].count(
                "SELECT count(*) FROM token_event WHERE event = 'tokenMoved' AND generation_before = generation_after")
            #expect(moved == 63)
            try await stores[0].expectIntact(["typed-token", "event-"])
        }
    }

    @Test func repeatedBytes_areNotRead_untilTheSetChangesOrExpires() async throws {
        try await withStore { store in
            let registration = try Registration.apns("phone", tokens: [.make(.voip, "a"), .make(.widget, "b")])
            _ = try await store.coalescer.register(SentRegistration(registration, digest: Self.bytes))
            let repeated = try await store.coalescer.register(.unreadable(registration, Self.bytes))
            #expect(repeated.status == .unchanged && repeated.expiredTokens == 0)

            _ = try await store.register(.apns("thief", tokens: [.make(.voip, "a")]))
            try await expectRead(registration, store)
            let back = try await store.coalescer.register(SentRegistration(registration, digest: Self.bytes))
            #expect(back.status == .updated && back.generation == repeated.generation)
            #expect(try await store.coalescer.register(.unreadable(registration, Self.bytes)).status == .unchanged)

            _ = try await store.database.execute(
                """
                UPDATE installation SET registration_digest =
                    substr(registration_digest, 1, 16) || '\\x0200000000000001'::bytea
                WHERE install_id = 'phone'
                """)
            try await expectRead(registration, store)
            let same = try await store.coalescer.register(SentRegistration(registration, digest: Self.bytes))
            #expect(same.status == .unchanged && same.expiredTokens == 0)
            #expect(try await store.coalescer.register(.unreadable(registration, Self.bytes)).status == .unchanged)
        }
    }

    private func expectRead(
        _ registration: Registration, _ store: StoreUnderTest, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        await #expect(throws: SentRegistration.WasRead.self, sourceLocation: sourceLocation) {
            try await store.coalescer.register(.unreadable(registration, Self.bytes))
        }
    }
}

extension Registration {
    fileprivate static func apns(
        _ installID: String, token: String? = nil, user: String? = nil, tokens: [SentTypedToken]?
    ) throws -> Registration {
        try .make(installID, token: token, user: user, provider: .apns, tokens: tokens)
    }
}

extension StoreUnderTest {
    private static let app = AppNumber(1)

    /// The kinds of an installation's tokens.
    fileprivate func set(of installID: String) async throws -> [String] {
        try await strings("SELECT kind::text FROM typed_token WHERE install_id = \(installID) ORDER BY kind, name")
    }

    fileprivate func put(_ sent: SentTypedToken, on installID: String) async throws -> TypedTokenOutcome? {
        try await change(.put(sent, environment: nil), on: installID)
    }

    /// Nil after a refusal.
    fileprivate func change(_ action: TypedTokenChange.Action, on installID: String) async throws -> TypedTokenOutcome?
    {
        let app = App(number: Self.app, id: try AppID("com.example.mail"), policy: .standard)
        do {
            return try await PostgresInstallationStore(resources).change(
                TypedTokenChange(
                    action, on: InstallationKey(app: Self.app, installID: try InstallID(installID)), of: app,
                    for: .service, by: .owner, credential: nil, precondition: nil, actor: "service:test"))
        } catch is TypedTokenRefusal {
            return nil
        }
    }

    /// One of twelve phones gets, moves or loses some of six tokens.
    fileprivate func race(_ dice: inout SeededGenerator) async throws {
        let phone = "phone-\(dice.below(12))"
        let kind: TokenKind = dice.below(2) == 0 ? .voip : .widget
        let token = try SentTypedToken.make(kind, "shared-\(dice.below(3))", name: "n\(dice.below(2))")
        switch dice.below(10) {
        case 0..<5:
            let other = try SentTypedToken.make(.voip, "shared-\(dice.below(3))", name: "other")
            _ = try await register(.apns(phone, user: "user-\(dice.below(2))", tokens: [token, other]))
        case 5: _ = try await register(.apns(phone, token: "main token \(dice.below(3))", tokens: nil))
        case 6, 7: _ = try await put(token, on: phone)
        case 8: _ = try await change(.remove(token.key), on: phone)
        default:
            try await PostgresInstallationStore(resources).delete(
                Deletion(
                    key: InstallationKey(app: Self.app, installID: try InstallID(phone)), requester: .service,
                    precondition: nil, actor: "service:test"))
        }
    }
}

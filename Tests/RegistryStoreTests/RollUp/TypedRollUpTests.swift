import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("Each change that concerns typed tokens moves the counts of their kind, and the cube answers (R13)", .stores)
struct TypedRollUpTests {
    private let stores = TestStores.lent!

    private struct Step {
        let title: String
        /// The tokens of this kind that are handed out afterwards. They need no authorization, and nobody has one.
        let voip: Int64
        let run: @Sendable (TestStores, PostgresUserStore) async throws -> Void

        init(
            _ title: String, _ voip: Int64,
            _ run: @escaping @Sendable (TestStores, PostgresUserStore) async throws -> Void
        ) {
            (self.title, self.voip, self.run) = (title, voip, run)
        }
    }

    @Test(arguments: [1, 3]) func everyPath_countsTheTokens(foldingEvery interval: Int) async throws {
        let users = PostgresUserStore(LoopResources(postgres: stores.postgres))
        // Ends with this scope.
        async let _ = users.run()
        for (number, step) in Self.steps.enumerated() {
            await #expect(throws: Never.self, "\(step.title)") { try await step.run(stores, users) }
            try await stores.expectExact()
            #expect(try await stores.count(of: .voip) == step.voip, "\(step.title)")
            #expect(try await stores.count(of: .liveActivity) == 0, "\(step.title)")
            if number % interval == 0 { try await stores.fold() }
            #expect(try await stores.brokenRollUp().isEmpty, "\(step.title)")
        }
        try await stores.fold()
        #expect(try await stores.count("SELECT count(*) FROM rollup_cube WHERE topic < -1000000") == 0)
        #expect(try await stores.count("SELECT count(*) FROM rollup_expiry WHERE topic < -1000000") == 0)
    }

    @Test func registration_writesNoCountsOfTokens_unlessTheirCellOrExpiryChanges() async throws {
        let expiry = Timestamp(microseconds: Timestamp.now().microseconds + 3_600_000_000)
        func register(carrier: String? = nil, locale: String = "de_DE") async throws {
            try await stores.send(
                "a", carrier: carrier, locale: locale, session: "s", expiresAt: expiry,
                tokens: carrier == nil ? [.make(.voip, "1")] : nil)
        }
        let ofTokens: PostgresStatement = "SELECT count(*) FROM rollup_delta WHERE topic < -1000000"
        try await register()
        #expect(try await stores.count(ofTokens) == 1)
        try await register(carrier: "Other")
        try await register(carrier: "Another")
        #expect(try await stores.count(ofTokens) == 1)
        try await register(carrier: "Another", locale: "fr_FR")
        #expect(try await stores.count(ofTokens) == 3)
        try await stores.expectExact()
    }

    private static let steps = [
        Step("registrations", 3) { stores, _ in
            try await stores.send("a", tokens: [.make(.voip, "1"), .make(.liveActivity, "1", name: "x")])
            try await stores.send("b", tokens: [.make(.voip, "2", name: "x"), .make(.voip, "3", name: "y")])
        },
        Step("another cell", 3) { stores, _ in try await stores.send("a", locale: "fr_FR") },
        Step("another spelling of the cell's values", 3) { stores, _ in
            try await stores.send("a", carrier: "Other", locale: "fr_FR")
        },
        Step("a token moves with a registration", 3) { stores, _ in
            try await stores.send("c", tokens: [.make(.voip, "2")])
        },
        Step("a call adds a token", 4) { stores, _ in
            try await stores.change(.put(.make(.voip, "4"), environment: nil), of: "b")
        },
        Step("a token moves with a call", 4) { stores, _ in
            try await stores.change(.put(.make(.voip, "1", name: "z"), environment: .apnsSandbox), of: "b")
        },
        Step("a call removes a token", 3) { stores, _ in
            try await stores.change(.remove(TypedTokenKey(.voip, name: "z")), of: "b")
        },
        Step("feedback about a typed token", 2) { stores, _ in
            _ = try await stores.judge([stores.item(SentTypedToken.make(.voip, "4").token.text)])
        },
        Step("a user's installations", 4) { stores, _ in
            try await stores.send("d", user: "u", tokens: [.make(.voip, "5"), .make(.widget, "5")])
            try await stores.send("e", user: "u", session: "s", tokens: [.make(.voip, "6")])
        },
        Step("the session gets an end", 4) { stores, _ in
            let expiry = Timestamp(microseconds: Timestamp.now().microseconds + 3_600_000_000)
            try await stores.send("e", user: "u", session: "s", expiresAt: expiry)
        },
        Step("a takeover ends the set", 4) { stores, _ in
            try await stores.send("f", tokens: [.make(.voip, "7")])
            try await stores.send("g", token: "token-of-f")
            try await stores.send("f", token: "another token", tokens: [.make(.voip, "7")])
            try await stores.send("d", user: "v")
        },
        Step("a session's end", 3) { stores, users in
            _ = try await users.end(
                SessionEnd(app: stores.app.number, scope: .session(SessionID("s")), actor: "service:test"))
        },
        Step("a logout", 3) { stores, users in
            try await stores.send("h", user: "w", tokens: [.make(.voip, "8"), .make(.widget, "8")])
            _ = try await users.logOut(
                Logout(
                    key: stores.key("h"), requester: .service, keepsAnonymous: true, precondition: nil,
                    actor: "service:test"))
        },
        Step("an erasure", 3) { stores, users in
            try await stores.send("i", user: "x", tokens: [.make(.voip, "9")])
            _ = try await users.erase(
                Erasure(app: stores.app.number, userID: UserID("x"), actor: "service:test"))
        },
        Step("a deletion", 2) { stores, _ in
            try await stores.installations.delete(
                Deletion(key: stores.key("f"), requester: .service, precondition: nil, actor: "service:test"))
        },
        Step("feedback about the phone", 1) { stores, _ in
            _ = try await stores.judge([String(hex: Array("token-of-c".utf8))])
        },
        Step("expired tokens are deleted", 1) { stores, _ in
            try await stores.change(
                """
                WITH expired AS (UPDATE typed_token SET expires_at = now() WHERE kind = 'widget')
                UPDATE installation SET revision = revision + 1
                """)
            try await stores.cleanUp()
        },
        Step("stale installations", 0) { stores, _ in
            try await stores.makeStale()
            try await stores.cleanUp()
        },
    ]
}

extension TestStores {
    fileprivate func send(
        _ installID: String, token: String? = nil, user: String? = nil, carrier: String? = nil,
        locale: String = "de_DE", session: String? = nil, expiresAt: Timestamp? = nil, tokens: [SentTypedToken]? = nil
    ) async throws {
        _ = try await installations.register(
            .make(
                installID, token: token, user: session == nil ? user : user ?? "u", carrier: carrier, locale: locale,
                session: session, expiresAt: expiresAt, provider: .apns, tokens: tokens))
    }

    fileprivate func change(_ action: TypedTokenChange.Action, of installID: String) async throws {
        _ = try await installations.change(
            TypedTokenChange(
                action, on: key(installID), of: app, for: .service, by: .owner, credential: nil, precondition: nil,
                actor: "service:test"))
    }

    /// As a service answers it.
    fileprivate func count(of kind: TokenKind) async throws -> Int64 {
        let audiences = PostgresAudienceStore(postgres: postgres, limits: AudienceStoreLimits(), cubes: cubes)
        let result = try await audiences.count(
            Audience(
                app: app.number, filter: .everybody, include: .reachable, tokens: HandedOutTokens(kind, name: nil)),
            explains: true)
        #expect(result.plan?.path == .rollUp)
        return result.count
    }
}

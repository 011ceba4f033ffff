import Testing

@testable import PushRegistry

@Suite("An installation has more tokens, and each of them one holder (R1; fine print 116 to 120)")
struct LockedTokensTests {
    private var ledger = TokenLedger()

    /// Of a phone of Alice.
    private static func registration(
        _ tokens: [SentTypedToken]?, on installID: String = "phone", token: String? = nil,
        as user: String? = "alice", session: String? = nil, provider: Provider = .apns
    ) -> Registration {
        .make(
            installID, token: token, owner: user.map { .make($0, session: session) }, tokens: tokens,
            provider: provider)
    }

    private static func put(
        _ sent: SentTypedToken, on installID: String = "phone", environment: Provider? = nil,
        for requester: Requester = .service, by authority: RegistrationClaim.Authority = .owner,
        ifMatch: Precondition? = nil
    ) -> TypedTokenChange {
        TypedTokenChange(
            .put(sent, environment: environment), on: .make(installID), of: .make(), for: requester, by: authority,
            credential: nil, precondition: ifMatch, actor: "service:test")
    }

    private static func remove(_ kind: TokenKind, name: String? = nil) throws -> TypedTokenChange {
        TypedTokenChange(
            .remove(try TypedTokenKey(kind, name: name)), on: .make("phone"), of: .make(), for: .service, by: .owner,
            credential: nil, precondition: nil, actor: "service:test")
    }

    private static let voip = SentTypedToken.make(.voip, "v")
    private static let widget = SentTypedToken.make(.widget, "w")

    // MARK: The set

    @Test(arguments: [TokenKind.widget, .voip]) mutating func heldToken_isHandedOutAgain_whenItIsRegistered(
        kind: TokenKind
    ) throws {
        let held = TypedToken(
            key: try TypedTokenKey(kind, name: nil), token: Self.voip.token, sha256: Self.voip.sha256,
            receivedAt: .at(0), expiresAt: nil, heldAt: .at(1))
        var locked = LockedTokens([(.make("phone"), held)], now: .at(1))
        let sent = SentTypedToken.make(kind, "v")
        #expect(locked.isChanged(by: [sent], on: .make("phone")))
        _ = locked.replace(by: [sent], on: .make("phone"))
        #expect(locked.changes.first?.written.map(\.isHeld) == [false])
    }

    // MARK: One token

    @Test mutating func seventeenthToken_isRefused_andAnExpiredOneDoesNotCount() throws {
        let many = (0..<15).map { SentTypedToken.make(.widget, "w\($0)", name: "w\($0)") }
        try ledger.register(Self.registration(many + [.make(.liveActivity, "a", name: "a", until: .at(9 * 3_600))]))
        #expect(throws: TypedTokenRefusal.tooMany) { try ledger.change(Self.put(Self.voip)) }
        #expect(try ledger.change(Self.put(.make(.widget, "other", name: "w3"))).count == 16)
        ledger.pass(hours: 8)
        #expect(try ledger.change(Self.put(Self.voip)).count == 16)
    }

    @Test mutating func oneToken_isRefused_unlessTheInstallationIsActiveAtAPNs() throws {
        #expect(throws: TypedTokenRefusal.notFound) { try ledger.change(Self.put(Self.voip)) }
        try ledger.register(Self.registration(nil, provider: .fcm))
        #expect(throws: TypedTokenRefusal.otherProvider) { try ledger.change(Self.put(Self.voip)) }
        try ledger.register(Self.registration(nil))
        for state in InstallationState.allCases where state != .active {
            ledger.change("phone") {
                var after = $0
                after.state = state
                return after
            }
            #expect(throws: TypedTokenRefusal.notActive) { try ledger.change(Self.put(Self.voip)) }
            #expect(throws: TypedTokenRefusal.notActive) { try ledger.change(Self.remove(.voip)) }
        }
    }

    // MARK: One holder

    @Test mutating func token_moves_byACallAboutIt_andIntoAnotherEnvironment() throws {
        try ledger.register(Self.registration([Self.voip]), Self.registration(nil, on: "other"))
        try ledger.change(Self.put(Self.voip, on: "other", environment: .apnsSandbox))
        #expect(ledger.set(of: "phone") == [] && ledger.set(of: "other") == ["voip  76"])
        #expect(ledger.events.last?.kind == .tokenMoved && ledger.events.last?.provider == .apns)
    }

    @Test mutating func otherKind_isAnotherNameSpace() throws {
        try ledger.register(
            Self.registration([.make(.voip, "t")]), Self.registration([.make(.widget, "t")], on: "other"))
        #expect(ledger.set(of: "phone") == ["voip  74"] && ledger.set(of: "other") == ["widget  74"])
    }

    @Test mutating func lastOneWins_inABatch() throws {
        try ledger.register(Self.registration([Self.voip]))
        try ledger.register(Self.registration([Self.voip], on: "other"), Self.registration([Self.voip]))
        #expect(ledger.set(of: "phone") == ["voip  76"] && ledger.set(of: "other") == [])
        #expect(ledger.isKnown("phone") && !ledger.isKnown("other"))
    }

    @Test mutating func expiredToken_movesWithoutAnEvent() throws {
        try ledger.register(Self.registration([.make(.voip, "v", until: .at(5 * 3_600))]))
        ledger.pass(hours: 5)
        try ledger.register(Self.registration([Self.voip], on: "other"))
        #expect(ledger.events.map(\.kind) == [.registered, .registered])
        #expect(ledger.token(.voip, of: "phone") == nil)
    }

    @Test mutating func takeover_endsTheSet_andItsTokensMoveWithoutAnEventOfTheirOwn() throws {
        try ledger.register(Self.registration([Self.voip, Self.widget], token: "t"))
        try ledger.register(Self.registration([Self.voip], on: "other", token: "t"))
        #expect(ledger.set(of: "phone") == [] && ledger.set(of: "other") == ["voip  76"])
        #expect(ledger.events.map(\.kind) == [.registered, .superseded, .takenOver])
    }

    // MARK: The end of the set

    @Test mutating func suspect_keepsTheSet() throws {
        try ledger.register(Self.registration([Self.voip]))
        ledger.change("phone") { $0.retired(as: .suspect, at: .at(9)) }
        #expect(ledger.set(of: "phone") == ["voip  76"])
        try ledger.register(Self.registration(nil))
        #expect(ledger.set(of: "phone") == ["voip  76"])
    }

    @Test(arguments: [("alice", "bob"), ("alice", nil), (nil, "alice")] as [(String?, String?)])
    mutating func anotherOwner_endsTheSet(before: String?, after: String?) throws {
        try ledger.register(Self.registration([Self.voip, Self.widget], as: before))
        try ledger.register(Self.registration(nil, as: after))
        #expect(ledger.set(of: "phone") == [])
        try ledger.register(Self.registration([Self.voip], as: before))
        try ledger.register(Self.registration([Self.widget], as: after))
        #expect(ledger.set(of: "phone") == ["widget  77"])
    }

    @Test mutating func anotherSessionAndAnotherMainToken_keepTheSet() throws {
        try ledger.register(Self.registration([Self.voip], session: "s1"))
        try ledger.register(Self.registration(nil, session: "s2"))
        try ledger.register(Self.registration(nil, token: "another", session: "s2"))
        #expect(ledger.set(of: "phone") == ["voip  76"])
    }

    /// Other installations in one batch end it in between.
    @Test mutating func set_ends_whenItsInstallationIsSupersededAndRegistersAgain() throws {
        try ledger.register(Self.registration([Self.voip], token: "t"))
        try ledger.register(Self.registration(nil, on: "other", token: "t"), Self.registration(nil, token: "new"))
        #expect(ledger["phone"]?.state == .active && ledger.set(of: "phone") == [])
        try ledger.register(
            Self.registration(nil, on: "other", token: "new"), Self.registration([Self.widget], token: "newer"))
        #expect(ledger.set(of: "phone") == ["widget  77"])
    }

    // MARK: Expiry

    @Test mutating func liveActivity_expiresTwelveHoursAfterItsFirstReceipt() throws {
        let activity = SentTypedToken.make(.liveActivity, "a", name: "one")
        try ledger.register(Self.registration([activity]))
        ledger.pass(hours: 10)
        #expect(try ledger.register(Self.registration([activity]))[0].status == .unchanged)
        #expect(ledger.token(.liveActivity, of: "phone")?.expiresAt == .at(13 * 3_600))
        #expect(ledger.isKnown("phone"))
        ledger.pass(hours: 1)
        #expect(ledger.set(of: "phone") == [] && !ledger.isKnown("phone"))
        #expect(try ledger.register(Self.registration([activity]))[0].status == .updated)
        #expect(ledger.token(.liveActivity, of: "phone")?.receivedAt == ledger.now)
        try ledger.register(Self.registration([.make(.liveActivityStart, "s")]))
        #expect(ledger.token(.liveActivityStart, of: "phone")?.expiresAt == ledger.now.advanced(by: .days(90)))
        try ledger.register(Self.registration([Self.voip]))
        #expect(ledger.token(.voip, of: "phone")?.expiresAt == nil)
    }

    @Test mutating func otherNameOrOtherToken_isAFirstReceipt() throws {
        try ledger.register(Self.registration([.make(.liveActivity, "a", name: "one")]))
        try ledger.register(Self.registration([.make(.liveActivity, "b", name: "one")]))
        #expect(ledger.token(.liveActivity, of: "phone")?.receivedAt == ledger.now)
        try ledger.register(Self.registration([.make(.liveActivity, "b", name: "two")]))
        #expect(ledger.token(.liveActivity, of: "phone")?.receivedAt == ledger.now)
    }

    @Test func storedDigest_matchesUntilTheFirstTokenExpires() {
        let stored = StoredDigest.bytes([7, 8], expiry: .at(5), expired: 3)
        let match = { (bytes: [UInt8], digest: [UInt8], time: Timestamp) in
            bytes.withUnsafeBytes { StoredDigest.match($0, digest, at: time) }
        }
        #expect(match(stored, [7, 8], .at(4)) == .sameTokens(expired: 3))
        #expect(match(stored, [7, 8], .at(5)) == .none && match(stored, [7, 9], .at(4)) == .none)
        let lasting = StoredDigest.bytes([7, 8], expiry: nil, expired: 0)
        #expect(match(lasting, [7, 8], .at(1_000_000_000)) == .sameTokens(expired: 0))
        #expect(match([7, 8], [7, 8], .at(4)) == .same && match([7, 8, 9], [7, 8], .at(4)) == .none)
        #expect(match(StoredDigest.outdated, [7, 8], .at(4)) == .none && match([], [7, 8], .at(4)) == .none)
    }
}

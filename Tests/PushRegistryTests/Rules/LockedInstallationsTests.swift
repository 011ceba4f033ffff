import Testing

@testable import PushRegistry

@Suite("Registrations keep the rules, whatever came before (R1 to R5, R10)")
struct LockedInstallationsTests {
    private static func hour(_ hour: Int64) -> Timestamp { .at(3_600 * hour) }

    /// Hours. A JWT may arrive late. A back end, which has no `iat`, may shorten the session.
    @Test(arguments: [(5, 9, 9), (9, 5, 9), (5, nil, nil), (nil, 5, 5)] as [(Int64?, Int64?, Int64?)])
    func sessionKeepsTheLaterExpiry_ofTwoJWTs(first: Int64?, second: Int64?, kept: Int64?) throws {
        func registration(_ expiry: Int64?, issuedAt: Timestamp?, token: String = "t") -> Registration {
            .make(
                "phone", token: token, owner: .make("alice", session: "s", until: expiry.map(Self.hour)),
                issuedAt: issuedAt)
        }
        for isJWT in [true, false] {
            var ledger = TokenLedger()
            let issuedAt: Timestamp? = isJWT ? .at(1) : nil
            try ledger.register(registration(first, issuedAt: issuedAt))
            for token in ["t", "u"] {
                let outcome = try ledger.register(registration(second, issuedAt: issuedAt, token: token))[0]
                let expiry = ledger["phone"]?.owner?.session?.expiresAt
                #expect(expiry == (isJWT ? kept : second).map(Self.hour))
                let isSame = token == "t" && isJWT && kept == first
                #expect(outcome.status == (isSame ? .unchanged : .updated))
            }
        }
    }
}

@Suite("Registrations of a batch see the effects of earlier ones")
struct BatchOfRegistrationsTests {
    @Test func token_belongsToTheLast_whenThreeNewInstallationsClaimIt() throws {
        var ledger = TokenLedger()
        try ledger.register(.make("A", token: "t"), .make("B", token: "t"), .make("C", token: "t"))
        #expect(ledger.installations.values.filter { $0.tokenSHA256 != nil }.map(\.key) == [.make("C")])
        #expect(ledger["A"]?.state == .superseded && ledger["B"]?.state == .superseded)
        func kinds(of installID: String) -> [EventKind] {
            ledger.events.filter { $0.key == .make(installID) }.map(\.kind)
        }
        #expect(kinds(of: "A") == [.registered, .superseded])
        #expect(kinds(of: "B") == [.takenOver, .superseded])
    }

    @Test func tokens_swap_whenBothInstallationsAreInTheBatch() throws {
        var ledger = TokenLedger()
        try ledger.register(.make("A", token: "t1"), .make("B", token: "t2"))
        let (first, second) = (ledger["A"]?.tokenSHA256, ledger["B"]?.tokenSHA256)
        try ledger.register(.make("A", token: "t2"), .make("B", token: "t1"))
        #expect(ledger["A"]?.tokenSHA256 == second && ledger["B"]?.tokenSHA256 == first)
        #expect(ledger.installations.values.allSatisfy { $0.state == .active })
    }

    @Test func outdatedRegistration_affectsNoOtherOfItsBatch() throws {
        var locked = LockedInstallations([], now: .at(1), number: 1)
        _ = try locked.register(.make("A"))
        #expect(throws: RegistrationRefusal.self) { try locked.register(.make("B", precondition: .generation([7]))) }
        _ = try locked.register(.make("C"))
        #expect(locked.changed.map(\.after.key) == [.make("A"), .make("C")])
    }

    @Test func changed_isInLockOrder_whateverTheOrderOfTheBatch() throws {
        var locked = LockedInstallations([], now: .at(1), number: 1)
        for installID in ["c", "a", "B", "b"] { _ = try locked.register(.make(installID)) }
        #expect(locked.changed.map(\.after.key.installID.rawValue) == ["B", "a", "b", "c"])
    }
}

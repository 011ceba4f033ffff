import Testing

@testable import PushRegistry

/// Applies registrations to what others left, each at its own second, and keeps all events.
private struct Ledger {
    private(set) var installations: [InstallationKey: Installation] = [:]
    private(set) var events: [TokenEvent] = []
    private var second: Int64 = 0

    @discardableResult
    mutating func register(_ registrations: Registration...) throws -> [RegistrationOutcome] {
        second += 1
        var locked = LockedInstallations(Array(installations.values), now: .at(second), number: second)
        let outcomes = try registrations.map { try locked.register($0) }
        for (_, after) in locked.changed { installations[after.key] = after }
        events += locked.events
        return outcomes
    }

    subscript(installID: String) -> Installation? { installations[.make(installID)] }

    func kinds(of installID: String) -> [EventKind] {
        events.filter { $0.key == .make(installID) }.map(\.kind)
    }
}

@Suite("Registrations keep the rules, whatever came before (R1 to R5, R10)")
struct LockedInstallationsTests {
    /// A JWT may arrive late. A back end, which has no `iat`, may shorten the session.
    @Test(arguments: [(5, 9, 9), (9, 5, 9), (5, nil, nil), (nil, 5, 5)] as [(Int64?, Int64?, Int64?)])
    func sessionKeepsTheLaterExpiry_ofTwoJWTs(first: Int64?, second: Int64?, kept: Int64?) throws {
        func registration(_ expiry: Int64?, issuedAt: Timestamp?, token: String = "t") -> Registration {
            .make(
                "phone", token: token, owner: .make("alice", session: "s", until: expiry.map(Timestamp.at)),
                issuedAt: issuedAt)
        }
        for isJWT in [true, false] {
            var ledger = Ledger()
            let issuedAt: Timestamp? = isJWT ? .at(1) : nil
            try ledger.register(registration(first, issuedAt: issuedAt))
            for token in ["t", "u"] {
                let outcome = try ledger.register(registration(second, issuedAt: issuedAt, token: token))[0]
                let expiry = ledger["phone"]?.owner?.session?.expiresAt
                #expect(expiry == (isJWT ? kept : second).map(Timestamp.at))
                let isSame = token == "t" && isJWT && kept == first
                #expect(outcome.status == (isSame ? .unchanged : .updated))
            }
        }
    }
}

@Suite("Registrations of a batch see the effects of earlier ones")
struct BatchOfRegistrationsTests {
    @Test func token_belongsToTheLast_whenThreeNewInstallationsClaimIt() throws {
        var ledger = Ledger()
        try ledger.register(.make("A", token: "t"), .make("B", token: "t"), .make("C", token: "t"))
        #expect(ledger.installations.values.filter { $0.tokenSHA256 != nil }.map(\.key) == [.make("C")])
        #expect(ledger["A"]?.state == .superseded && ledger["B"]?.state == .superseded)
        #expect(ledger.kinds(of: "A") == [.registered, .superseded])
        #expect(ledger.kinds(of: "B") == [.takenOver, .superseded])
    }

    @Test func tokens_swap_whenBothInstallationsAreInTheBatch() throws {
        var ledger = Ledger()
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

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
    @Test func firstRegistration_createsTheInstallation_withAnEvent() throws {
        var ledger = Ledger()
        let outcome = try ledger.register(.make("phone", owner: .make("alice")))[0]
        #expect(outcome.status == .created)
        #expect(outcome.generation == Installation.firstGeneration(1))
        #expect(ledger.kinds(of: "phone") == [.registered])
        #expect(ledger.events[0].generationBefore == 0)
        #expect(ledger.events[0].generationAfter == outcome.generation)
    }

    @Test func repeatedRegistration_changesNothing() throws {
        var ledger = Ledger()
        try ledger.register(.make("phone", owner: .make("alice")))
        let before = ledger["phone"]
        let outcome = try ledger.register(.make("phone", owner: .make("alice")))[0]
        #expect(outcome.status == .unchanged)
        #expect(ledger["phone"] == before)
        #expect(ledger.events.count == 1)
    }

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

    @Test func lastSeenAt_isTheOnlyUpdate_whenTheTouchIsDue() throws {
        var ledger = Ledger()
        let app = App.make(touchInterval: ISO8601Duration(seconds: 2))
        let first = try ledger.register(.make("phone", of: app))[0]
        #expect(try ledger.register(.make("phone", of: app))[0].lastSeenAt == .at(1))
        let third = try ledger.register(.make("phone", of: app))[0]
        #expect(third.status == .unchanged)
        #expect(third.lastSeenAt == .at(3))
        #expect(third.generation == first.generation)
        #expect(ledger["phone"]?.registeredAt == .at(1))
    }

    @Test func rotation_freesTheOldToken_inOneStep() throws {
        var ledger = Ledger()
        let first = try ledger.register(.make("phone", token: "t1"))[0]
        let second = try ledger.register(.make("phone", token: "t2"))[0]
        #expect(second.generation == first.generation + 1)
        #expect(ledger.kinds(of: "phone") == [.registered, .rotated])
        #expect(try ledger.register(.make("other", token: "t1"))[0].status == .created)
        #expect(ledger["phone"]?.state == .active)
    }

    @Test func takeover_removesTheFormerHoldersToken() throws {
        var ledger = Ledger()
        try ledger.register(.make("A", token: "t", owner: .make("alice", session: "s")))
        try ledger.register(.make("B", token: "t", owner: .make("bob")))
        let former = try #require(ledger["A"])
        #expect(former.tokenSHA256 == nil && former.keys == nil)
        #expect(former.state == .superseded)
        #expect(former.stateChangedAt == .at(2))
        #expect(ledger.kinds(of: "A") == [.registered, .superseded])
        #expect(ledger.kinds(of: "B") == [.takenOver])
        #expect(ledger.events.last?.previousUserID == .make("alice"))
    }

    @Test func owner_changesInPlace_andTheEventNamesBoth() throws {
        var ledger = Ledger()
        try ledger.register(.make("phone", owner: .make("alice")))
        try ledger.register(.make("phone", owner: .make("bob")))
        let event = try #require(ledger.events.last)
        #expect(event.kind == .takenOver && event.reason == .ownerChanged)
        #expect(event.userID == .make("bob") && event.previousUserID == .make("alice"))
    }

    @Test func laterExpiry_changesTheRowButNotTheGeneration() throws {
        var ledger = Ledger()
        let first = try ledger.register(.make("phone", owner: .make("alice", session: "s", until: .at(100))))[0]
        let second = try ledger.register(.make("phone", owner: .make("alice", session: "s", until: .at(200))))[0]
        #expect(second.status == .updated)
        #expect(second.generation == first.generation)
        #expect(ledger["phone"]?.owner?.session?.expiresAt == .at(200))
        #expect(ledger.events.count == 1)
    }

    @Test func snapshotAlone_changesTheRowButNotTheGeneration() throws {
        var ledger = Ledger()
        let first = try ledger.register(.make("phone"))[0]
        let second = try ledger.register(.make("phone", device: .make("phone", carrier: "x")))[0]
        #expect(second.status == .updated)
        #expect(second.generation == first.generation)
        #expect(ledger["phone"]?.registeredAt == .at(1))
        #expect(ledger["phone"]?.lastSeenAt == .at(2))
    }

    @Test(arguments: InstallationState.allCases.filter { $0 != .active })
    func inactiveInstallation_becomesActive_whenItRegistersAgain(state: InstallationState) throws {
        var ledger = Ledger()
        try ledger.register(.make("phone"))
        var installation = try #require(ledger["phone"])
        installation.state = state
        if state == .superseded { installation.tokenSHA256 = nil }
        var locked = LockedInstallations([installation], now: .at(9), number: 9)
        let outcome = try locked.register(.make("phone"))
        #expect(outcome.status == .updated && outcome.state == .active)
        #expect(outcome.generation == installation.generation + 1)
        #expect(locked.events.map(\.kind) == [.reactivated])
        #expect(locked[.make("phone")]?.stateChangedAt == .at(9))
    }

    @Test func generation_beginsAboveEverythingBefore_whenInstallationIsNewAgain() throws {
        var first = LockedInstallations([], now: .at(1), number: 1)
        let old = try first.register(.make("phone")).generation
        var second = LockedInstallations([], now: .at(2), number: 2)
        #expect(try second.register(.make("phone")).generation > old + 3)
    }

    @Test func refusal_changesNothing_whenPreconditionFails() throws {
        var ledger = Ledger()
        try ledger.register(.make("A", token: "t"))
        let before = ledger.installations
        #expect(throws: RegistrationRefusal.outdated(generation: nil)) {
            try ledger.register(.make("B", token: "t", precondition: .exists))
        }
        #expect(ledger.installations == before)
        #expect(ledger.events.count == 1)
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

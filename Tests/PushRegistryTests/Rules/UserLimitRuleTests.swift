import Testing

@testable import PushRegistry

/// Applies registrations of an app with a limit to what others left. Each transaction has its own second.
private struct LimitedLedger {
    let app: App
    private(set) var installations: [InstallationKey: Installation] = [:]
    private(set) var events: [TokenEvent] = []
    private var second: Int64 = 0

    init(max: Int) { app = .make(touchInterval: ISO8601Duration(seconds: 1), installationsPerUser: max) }

    /// - Parameter phones: of one transaction, each with the user.
    mutating func register(_ phones: (id: String, user: String?)...) throws {
        second += 1
        var locked = LockedInstallations(
            Array(installations.values), others: [.make("alice"): 0, .make("bob"): 0], now: .at(second), number: second)
        for (id, user) in phones {
            _ = try locked.register(.make(id, owner: user.map { .make($0) }, of: app))
        }
        for (_, after) in locked.changed { installations[after.key] = after }
        events += locked.events
    }

    mutating func retire(_ id: String, _ state: InstallationState) {
        installations[.make(id)]?.state = state
    }

    func active(of user: String) -> [String] {
        installations.values.filter { $0.state == .active && $0.owner?.userID == .make(user) }
            .map(\.key.installID.rawValue).sorted()
    }
}

@Suite("A user has at most as many active installations as the policy allows")
struct UserLimitRuleTests {
    @Test func othersUsers_andAnonymousOnes_doNotCount() throws {
        var ledger = LimitedLedger(max: 1)
        try ledger.register(("a", "alice"), ("b", "bob"), ("c", nil), ("d", nil))
        #expect(ledger.active(of: "alice") == ["a"] && ledger.active(of: "bob") == ["b"])
        #expect(ledger.events.allSatisfy { $0.kind == .registered })
        // The phone changes hands.
        try ledger.register(("a", "bob"))
        #expect(ledger.active(of: "alice").isEmpty && ledger.active(of: "bob") == ["a"])
    }

    @Test func inactiveOnes_doNotCount_untilTheyComeBack() throws {
        var ledger = LimitedLedger(max: 2)
        try ledger.register(("a", "alice"))
        ledger.retire("a", .stale)
        try ledger.register(("b", "alice"), ("c", "alice"))
        #expect(ledger.active(of: "alice") == ["b", "c"])
        try ledger.register(("b", "alice"))
        try ledger.register(("a", "alice"))
        #expect(ledger.active(of: "alice") == ["a", "b"])
        // The superseded one comes back.
        try ledger.register(("c", "alice"))
        #expect(ledger.active(of: "alice") == ["a", "c"])
    }

    @Test func registrationsOfOneTransaction_seeEachOther() throws {
        var ledger = LimitedLedger(max: 1)
        try ledger.register(("a", "alice"), ("b", "alice"), ("c", "alice"))
        #expect(ledger.active(of: "alice").count == 1)
        #expect(ledger.active(of: "alice") == ["c"])
    }

    @Test func allThatAreTooMany_areSuperseded_whenTheLimitCameLater() throws {
        var ledger = LimitedLedger(max: 1_000)
        for id in ["a", "b", "c", "d"] { try ledger.register((id, "alice")) }
        var locked = LockedInstallations(
            Array(ledger.installations.values), others: [.make("alice"): 0], now: .at(100), number: 100)
        _ = try locked.register(.make("e", owner: .make("alice"), of: .make(installationsPerUser: 2)))
        #expect(locked.events.filter { $0.reason == .limit }.map(\.key.installID.rawValue) == ["a", "b", "c"])
        var unlocked = LockedInstallations([], others: [.make("alice"): 4], now: .at(100), number: 100)
        _ = try unlocked.register(.make("e", owner: .make("alice"), of: .make(installationsPerUser: 2)))
        #expect(unlocked.events.count == 1)
    }
}

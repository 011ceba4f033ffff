@testable import PushRegistry

/// Applies registrations and calls about single tokens to what others left, each at its own hour, as a store does.
struct TokenLedger {
    private(set) var installations: [InstallationKey: Installation] = [:]
    private(set) var events: [TokenEvent] = []
    private var tokens: [(holder: InstallationKey, token: TypedToken)] = []
    private var digests: [InstallationKey: [UInt8]] = [:]
    private(set) var hour: Int64 = 0

    var now: Timestamp { .at(hour * 3_600) }

    mutating func pass(hours: Int64) { hour += hours }

    /// One batch.
    @discardableResult
    mutating func register(_ registrations: Registration...) throws -> [RegistrationOutcome] {
        hour += 1
        var locked = LockedInstallations(
            Array(installations.values), tokens: LockedTokens(tokens, now: now), now: now, number: hour)
        let outcomes = try registrations.map { try locked.register($0) }
        for (before, after) in locked.changed { replace(before, after) }
        write(locked.tokens)
        for registration in registrations where locked.isRewritten(registration.key) {
            digests[registration.key] = locked.tokens.stored([1, 2], of: registration)
        }
        events += locked.events
        return outcomes
    }

    @discardableResult
    mutating func change(_ change: TypedTokenChange) throws -> TypedTokenOutcome {
        hour += 1
        var locked = LockedTokens(tokens, now: now)
        events += try change.apply(on: installations, &locked, at: now)
        write(locked)
        return TypedTokenOutcome(
            generation: installations[change.key]?.generation ?? 0, count: locked.count(on: change.key))
    }

    /// What else changes an installation.
    mutating func change(_ installID: String, _ change: (Installation) -> Installation?) {
        guard let before = self[installID] else { return }
        replace(before, change(before))
    }

    private mutating func replace(_ before: Installation?, _ after: Installation?) {
        guard let key = (before ?? after)?.key else { return }
        let ended = before.map { Installation.endedKinds(from: $0, to: after) } ?? []
        tokens.removeAll { $0.holder == key && ended.contains($0.token.key.kind) }
        installations[key] = after
    }

    private mutating func write(_ locked: LockedTokens) {
        for change in locked.changes {
            let gone = change.removed + change.written.map(\.key)
            tokens.removeAll { $0.holder == change.key && gone.contains($0.token.key) }
            tokens += change.written.map { (change.key, $0) }
        }
        for key in locked.disturbed { digests[key] = StoredDigest.outdated }
    }

    subscript(installID: String) -> Installation? { installations[.make(installID)] }

    /// `kind name text` of each token, without the padding of texts; expired ones are not among them.
    func set(of installID: String) -> [String] {
        tokens.filter { $0.holder == .make(installID) && !$0.token.isExpired(at: now) }
            .map { "\($0.token.key.kind.rawValue) \($0.token.key.name) \($0.token.token.text.dropLast(16))" }.sorted()
    }

    func token(_ kind: TokenKind, of installID: String) -> TypedToken? {
        tokens.first { $0.holder == .make(installID) && $0.token.key.kind == kind }?.token
    }

    /// Whether the same bytes again are unchanged without a look at the set.
    func isKnown(_ installID: String) -> Bool {
        let stored = digests[.make(installID)] ?? []
        return stored.withUnsafeBytes { StoredDigest.match($0, [1, 2], at: now) }.isSame
    }
}

/// The installations that one transaction has locked, and the rules for what may become of them.
///
/// A value without I/O: a store loads what a batch concerns, applies the batch's registrations one after another, and
/// writes what `changed` and `events` then say. Later registrations of a batch see what earlier ones did, so the
/// same token may occur in it more than once; an installation occurs once.
public struct LockedInstallations: Sendable {
    /// What has to be written.
    public private(set) var events: [TokenEvent] = []
    /// The installations whose snapshot now differs from the one before: the history of settings gains theirs.
    public private(set) var newSnapshots: [InstallationKey] = []

    private var rewritten = Set<InstallationKey>()
    private let loaded: [InstallationKey: Installation]
    private var present: [InstallationKey: Installation]
    private var holders: [TokenAddress: InstallationKey]
    private var keychains: [KeychainKey: Set<InstallationKey>]
    private let signOuts: SignOuts
    private let now: Timestamp

    private struct KeychainKey: Hashable {
        let app: AppNumber
        let keychainID: String

        init(_ app: AppNumber, _ keychainID: String) {
            self.app = app
            self.keychainID = keychainID
        }
    }

    /// - Parameters:
    ///   - installations: every row that the batch names, that holds one of its tokens, or that one of its devices may
    ///     replace; all locked.
    ///   - signOuts: which of the sessions that the batch names have ended, for every registration that begins a
    ///     binding.
    ///   - now: the time of the database, the one clock that all services share.
    public init(_ installations: [Installation], signOuts: SignOuts = SignOuts(), now: Timestamp) {
        loaded = Dictionary(uniqueKeysWithValues: installations.map { ($0.key, $0) })
        present = loaded
        holders = Dictionary(
            installations.compactMap { row in row.address.map { ($0, row.key) } },
            uniquingKeysWith: { first, _ in first })
        keychains = [:]
        self.signOuts = signOuts
        self.now = now
        for installation in installations { remember(installation) }
    }

    public subscript(key: InstallationKey) -> Installation? { present[key] }

    /// Whether a registration replaced the installation's snapshot and token, or made the installation.
    public func isRewritten(_ key: InstallationKey) -> Bool { rewritten.contains(key) }

    /// The installations that differ from what was loaded, in lock order, each with what was loaded.
    public var changed: [(before: Installation?, after: Installation)] {
        present.values.filter { loaded[$0.key] != $0 }
            .sorted { $0.key < $1.key }
            .map { (loaded[$0.key], $0) }
    }

    /// Applies one registration (R2 to R5, R7, R8, R10).
    public mutating func register(_ registration: Registration) throws(RegistrationRefusal) -> RegistrationOutcome {
        let current = present[registration.key]
        if registration.precondition?.fails(on: current) == true {
            throw .outdated(generation: registration.reader.visibleGeneration(of: current))
        }
        if registration.beginsBinding(on: current), signOuts.forbid(registration, at: now) { throw .sessionEnded }
        guard let current else { return create(registration) }
        return registration.says(nothingNewTo: current)
            ? touch(current, by: registration) : update(current, by: registration)
    }

    /// R2: nothing is written but a `lastSeenAt` that is due.
    private mutating func touch(_ current: Installation, by registration: Registration) -> RegistrationOutcome {
        var after = current
        if registration.isDue(since: current.lastSeenAt, at: now) { after.lastSeenAt = time(of: current) }
        present[current.key] = after
        return RegistrationOutcome(.unchanged, after)
    }

    private mutating func create(_ registration: Registration) -> RegistrationOutcome {
        let taken = release(registration.address, to: registration)
        markReplaced(by: registration)
        // Above every number that a deleted installation of this id can have had: it began at its own microsecond and
        // grew by one at each change.
        let generation = now.microseconds
        let after = Installation(
            key: registration.key, provider: registration.token.provider, tokenSHA256: registration.tokenSHA256,
            keys: registration.keys, owner: registration.owner, credentialIssuedAt: registration.credentialIssuedAt,
            state: .active, generation: generation,
            registrationGeneration: generation, probablyReplacedBy: nil, createdAt: now, registeredAt: now,
            lastSeenAt: now, stateChangedAt: now, snapshotDigest: registration.snapshotDigest,
            lineage: Lineage(registration.snapshot.device))
        hold(after, by: registration)
        newSnapshots.append(after.key)
        append(
            taken == nil ? .registered : .takenOver, taken == nil ? .firstRegistration : .tokenMoved,
            registration, nil, after, previousUserID: taken?.owner?.userID)
        return RegistrationOutcome(.created, after)
    }

    /// R3, R4, R10: the body replaces what is there.
    private mutating func update(_ current: Installation, by registration: Registration) -> RegistrationOutcome {
        let taken = current.address == registration.address ? nil : release(registration.address, to: registration)
        var after = current
        after.provider = registration.token.provider
        after.tokenSHA256 = registration.tokenSHA256
        after.keys = registration.keys
        after.owner = registration.owner
        after.state = .active
        after.probablyReplacedBy = nil
        after.lastSeenAt = time(of: current)
        after.snapshotDigest = registration.snapshotDigest
        after.lineage = Lineage(registration.snapshot.device)
        // A binding by a credential without a time gets that of the first one that has it.
        if after.owner?.isSame(as: current.owner) != true || current.credentialIssuedAt == nil {
            after.credentialIssuedAt = registration.credentialIssuedAt
        }
        if !registration.bindsAlike(current) { rebind(&after, from: current, taking: taken, by: registration) }
        hold(after, by: registration)
        if current.snapshotDigest != after.snapshotDigest { newSnapshots.append(after.key) }
        return RegistrationOutcome(.updated, after)
    }

    private mutating func rebind(
        _ after: inout Installation, from current: Installation, taking taken: Installation?,
        by registration: Registration
    ) {
        after.generation = current.generation + 1
        after.registrationGeneration = after.generation
        after.registeredAt = after.lastSeenAt
        if current.state != .active { after.stateChangedAt = time(of: current) }
        let (kind, reason) = taken == nil ? explanation(of: after, from: current) : (.takenOver, .tokenMoved)
        append(kind, reason, registration, current, after, previousUserID: (taken ?? current).owner?.userID)
    }

    /// One event tells one step; where several things changed, the one that concerns most people.
    private func explanation(of after: Installation, from current: Installation) -> (EventKind, TokenEvent.Reason) {
        let user = current.owner?.userID
        if user != nil, user != after.owner?.userID { return (.takenOver, .ownerChanged) }
        if let address = current.address, address != after.address { return (.rotated, .tokenChanged) }
        if current.state != .active { return (.reactivated, .comeback) }
        return (.registered, user == after.owner?.userID ? .sessionChanged : .ownerChanged)
    }

    /// R4: another holder of the token becomes `superseded` and keeps nothing of it.
    ///
    /// - Returns: the former holder as it was.
    private mutating func release(_ address: TokenAddress, to registration: Registration) -> Installation? {
        guard let key = holders[address], key != registration.key, let former = present[key] else { return nil }
        var after = former
        after.tokenSHA256 = nil
        after.keys = nil
        after.state = .superseded
        after.generation += 1
        after.stateChangedAt = time(of: former)
        present[key] = after
        holders[address] = nil
        append(.superseded, .tokenMoved, registration, former, after, previousUserID: former.owner?.userID)
        return former
    }

    /// R5: older installations of the same device are probably replaced. Their binding stays: keychains are shared.
    private mutating func markReplaced(by registration: Registration) {
        guard let lineage = Lineage(registration.snapshot.device) else { return }
        for key in keychains[KeychainKey(registration.key.app, lineage.keychainID)] ?? [] {
            guard let older = present[key], older.state == .active, let olderLineage = older.lineage else { continue }
            guard key != registration.key, lineage.continues(olderLineage) else { continue }
            present[key]?.probablyReplacedBy = registration.key.installID
        }
    }

    private mutating func hold(_ after: Installation, by registration: Registration) {
        if let old = present[after.key]?.address, holders[old] == after.key { holders[old] = nil }
        holders[registration.address] = after.key
        present[after.key] = after
        rewritten.insert(after.key)
        remember(after)
    }

    private mutating func remember(_ installation: Installation) {
        guard let lineage = installation.lineage else { return }
        keychains[KeychainKey(installation.key.app, lineage.keychainID), default: []].insert(installation.key)
    }

    private mutating func append(
        _ kind: EventKind, _ reason: TokenEvent.Reason, _ registration: Registration, _ before: Installation?,
        _ after: Installation, previousUserID: UserID?
    ) {
        events.append(
            TokenEvent(
                kind, reason, by: registration.actor, at: before.map(time) ?? now, from: before, to: after,
                previousUserID: previousUserID))
    }

    /// Time does not go back in the life of an installation, even where the clock did.
    private func time(of installation: Installation) -> Timestamp { installation.notBefore(now) }
}

import Basics

/// The installations that one transaction has locked, and the rules by which registrations change them.
///
/// A value without I/O: a store loads the rows that a batch concerns, applies its registrations one after another, and
/// writes `changed` and `events`. Later registrations of a batch see the effects of earlier ones, so a token may occur
/// more than once in a batch; an installation occurs once.
public struct LockedInstallations: Sendable {
    /// The events to write.
    public private(set) var events: [TokenEvent] = []
    /// The events of changed choices about topics, to write after `events`. They show the state at the end of the
    /// transaction, because an installation that lost its token may register again in the same batch.
    public var topicsEvents: [TopicsEvent] {
        topicsSteps.map { step in
            step.installation.flatMap { installations[$0.key] }.map(step.showing) ?? step
        }
    }
    /// The typed tokens of the installations.
    public private(set) var tokens: LockedTokens
    /// The installations whose snapshot changed. The new ones are added to the history of snapshots.
    public private(set) var newSnapshots: [InstallationKey] = []

    /// Each with its installation as it was then.
    private var topicsSteps: [TopicsEvent] = []
    private var rewritten = Set<InstallationKey>()
    private let loaded: [InstallationKey: Installation]
    private var installations: [InstallationKey: Installation]
    private var holders: [TokenAddress: InstallationKey]
    private var keychains: [KeychainKey: Set<InstallationKey>]
    private let tombstones: Tombstones
    private let userChoices: [UserID: TopicChoices]
    /// The installations that are, or were, a user's, for the policy's limit.
    private var ofUsers: [UserID: Set<InstallationKey>] = [:]
    private let others: [UserID: Int]
    private let now: Timestamp
    private let number: Int64

    private struct KeychainKey: Hashable {
        let app: AppNumber
        let keychainID: ExactText

        init(_ app: AppNumber, _ keychainID: String) {
            (self.app, self.keychainID) = (app, ExactText(keychainID))
        }
    }

    /// - Parameters:
    ///   - installations: every row that the batch names, that holds one of its tokens, or that one of its devices may
    ///     replace. All are locked.
    ///   - tombstones: the ended sessions, for every registration that sets an owner.
    ///   - userChoices: the choices about topics of the registrations' owners, and of the owners of installations that
    ///     have choices of their own.
    ///   - others: how many active installations a user has beside `installations`, for each user with a limit. Those
    ///     by which a user may exceed it, the longest unseen, are among `installations`.
    ///   - tokens: the sets of the installations that registrations name if they bring one, and of those that have one
    ///     of their tokens.
    ///   - now: the time of the database, the clock that all services share.
    ///   - number: of the transaction: no earlier one of these installations had one as high.
    public init(
        _ installations: [Installation], tombstones: Tombstones = Tombstones(),
        userChoices: [UserID: TopicChoices] = [:], others: [UserID: Int] = [:], tokens: LockedTokens? = nil,
        now: Timestamp, number: Int64
    ) {
        self.tokens = tokens ?? LockedTokens(now: now)
        loaded = Dictionary(uniqueKeysWithValues: installations.map { ($0.key, $0) })
        self.installations = loaded
        holders = Dictionary(
            installations.compactMap { row in row.address.map { ($0, row.key) } },
            uniquingKeysWith: { first, _ in first })
        keychains = [:]
        (self.tombstones, self.userChoices, self.others) = (tombstones, userChoices, others)
        (self.now, self.number) = (now, number)
        for installation in installations { indexKeychain(of: installation) }
        guard !others.isEmpty else { return }
        for installation in installations {
            if let owner = installation.owner { ofUsers[owner.userID, default: []].insert(installation.key) }
        }
    }

    public subscript(key: InstallationKey) -> Installation? { installations[key] }

    /// Whether a registration created the installation, or replaced its snapshot and token.
    public func isRewritten(_ key: InstallationKey) -> Bool { rewritten.contains(key) }

    /// The changed installations in lock order, each with the loaded row.
    public var changed: [(before: Installation?, after: Installation)] {
        installations.values
            .filter { loaded[$0.key] != $0 || rewritten.contains($0.key) || tokens.disturbed.contains($0.key) }
            .sorted { $0.key < $1.key }
            .map { (loaded[$0.key], $0) }
    }

    /// Applies one registration (R2 to R5, R7, R8, R10; fine print 10). The first registration of an imported
    /// installation always writes the row, and so does one with typed tokens: its digest covers them.
    public mutating func register(
        _ registration: Registration
    ) throws(RegistrationRefusal) -> RegistrationOutcome {
        let current = installations[registration.key]
        let registration = try registration.authorized(on: current, at: now)
        if registration.precondition?.fails(on: current) == true {
            throw .outdated(generation: registration.reader.visibleGeneration(of: current))
        }
        if registration.beginsBinding(on: current), tombstones.forbids(registration, at: now) { throw .sessionEnded }
        guard let current else { return receiveTokens(create(registration), registration) }
        let changesTokens = registration.tokens.map { tokens.isChanged(by: $0, on: current.key) } ?? false
        guard registration.repeats(current), !current.isImported, !changesTokens else {
            let outcome = update(current, by: registration)
            tokens.end(Installation.endedKinds(from: current, to: installations[current.key]), on: current.key)
            return receiveTokens(outcome, registration)
        }
        return receiveTokens(touch(current, by: registration), registration)
    }

    /// The sent tokens replace the set, after the end of a binding has ended it.
    private mutating func receiveTokens(
        _ outcome: RegistrationOutcome, _ registration: Registration
    ) -> RegistrationOutcome {
        guard let sent = registration.tokens else { return outcome }
        var outcome = outcome
        let replaced = tokens.replace(by: sent, on: registration.key)
        outcome.expiredTokens = replaced.expired
        rewritten.insert(registration.key)
        events += replaced.moved.compactMap { moved in
            installations[moved.holder].map { TokenEvent(moved, from: $0, by: registration.actor, at: now) }
        }
        return outcome
    }

    /// R2: writes only `lastSeenAt`, and only if the touch interval has passed. If something else than a registration
    /// has changed the binding, such as an undone run, the row is written once: the next registration that repeats it
    /// needs no lock.
    private mutating func touch(_ current: Installation, by registration: Registration) -> RegistrationOutcome {
        var after = current
        if current.registrationGeneration != current.generation {
            after.registrationGeneration = current.generation
            rewritten.insert(current.key)
        }
        if registration.claim.isTouchDue(since: current.lastSeenAt, at: now) { after.lastSeenAt = time(of: current) }
        installations[current.key] = after
        return RegistrationOutcome(.unchanged, after)
    }

    private mutating func create(_ registration: Registration) -> RegistrationOutcome {
        let taken = release(registration.address, to: registration.key, by: registration.actor, registration.catalogue)
        markReplaced(by: registration)
        let generation = Installation.firstGeneration(number)
        var after = Installation(
            key: registration.key, provider: registration.token.provider, tokenSHA256: registration.tokenSHA256,
            keys: registration.keys, owner: registration.owner, credentialIssuedAt: registration.credentialIssuedAt,
            state: .active, generation: generation,
            registrationGeneration: generation, epoch: generation, probablyReplacedBy: nil, createdAt: now,
            registeredAt: now, lastSeenAt: now, stateChangedAt: now, snapshotDigest: registration.snapshotDigest,
            fingerprint: registration.fingerprint)
        after.spelling = registration.token.spelling
        choose(&after, by: registration, taking: taken)
        store(after, by: registration)
        newSnapshots.append(after.key)
        append(
            taken == nil ? .registered : .takenOver, taken == nil ? .firstRegistration : .tokenMoved,
            by: registration.actor, nil, after, previousUserID: taken?.owner?.userID)
        appendTopics(registration, nil, after, .topicsRegistered, taking: taken)
        limit(after, from: nil, by: registration)
        return RegistrationOutcome(.created, after)
    }

    /// R3, R4, R10: the body replaces the stored registration.
    private mutating func update(_ current: Installation, by registration: Registration) -> RegistrationOutcome {
        let taken = release(registration.address, to: registration.key, by: registration.actor, registration.catalogue)
        var after = current
        after.provider = registration.token.provider
        after.tokenSHA256 = registration.tokenSHA256
        after.spelling = registration.token.spelling
        after.keys = registration.keys
        after.owner = registration.owner
        after.state = .active
        after.probablyReplacedBy = nil
        after.lastSeenAt = time(of: current)
        after.snapshotDigest = registration.snapshotDigest
        after.fingerprint = registration.fingerprint
        // Remember the time of the owner's first credential that has one. A credential with a session does not count:
        // it may be older than a logout, because its session decides (`mayPrecedeLogout`).
        let isOwner = after.owner?.isSame(as: current.owner) == true
        if !isOwner || current.credentialIssuedAt == nil && after.owner?.session == nil {
            after.credentialIssuedAt = registration.credentialIssuedAt
        }
        // The choices on the installation end with its owner. Those that this registration brings are the next owner's.
        if after.owner?.userID != current.owner?.userID {
            after.topicChoices = current.handedChoices(to: registration.owner)
        }
        after.isImported = false
        let kept = after.topicChoices
        choose(&after, by: registration, taking: taken)
        if !registration.keepsBinding(of: current) { rebind(&after, from: current, taking: taken, by: registration) }
        after.registrationGeneration = after.generation
        appendTopics(
            registration, current, after, after.topicChoices == kept ? .topicsReset : .topicsRegistered, taking: taken)
        store(after, by: registration)
        if current.snapshotDigest != after.snapshotDigest { newSnapshots.append(after.key) }
        limit(after, from: current, by: registration)
        return RegistrationOutcome(.updated, after)
    }

    private mutating func rebind(
        _ after: inout Installation, from current: Installation, taking taken: Installation?,
        by registration: Registration
    ) {
        after.generation = current.generation + 1
        if after.owner?.userID != current.owner?.userID { after.beginEpoch() }
        after.registeredAt = after.lastSeenAt
        if current.state != .active { after.stateChangedAt = time(of: current) }
        let (kind, reason) = taken == nil ? explanation(of: registration, on: current) : (.takenOver, .tokenMoved)
        append(kind, reason, by: registration.actor, current, after, previousUserID: (taken ?? current).owner?.userID)
    }

    /// One event records one step. If several values changed, the most important change names the event.
    private func explanation(
        of after: Registration, on current: Installation
    ) -> (EventKind, TokenEvent.Reason) {
        let user = current.owner?.userID
        if user != nil, user != after.owner?.userID { return (.takenOver, .ownerChanged) }
        switch after.match(current) {
        case .other where current.address != nil: return (.rotated, .tokenChanged)
        case .respelled where after.isOwner(of: current): return (.rotated, .respelled)
        case .same, .respelled, .other: break
        }
        if current.state != .active { return (.reactivated, .comeback) }
        return (.registered, user == after.owner?.userID ? .sessionChanged : .ownerChanged)
    }

    /// If a user has got an active installation, and has more of them than the policy's `installationsPerUser`, those
    /// that have not been seen for the longest are superseded.
    private mutating func limit(_ after: Installation, from before: Installation?, by registration: Registration) {
        guard let max = registration.installationsMax, let user = after.owner?.userID else { return }
        guard before?.state != .active || before?.owner?.userID != user else { return }
        ofUsers[user, default: []].insert(after.key)
        let active = (ofUsers[user] ?? []).compactMap { installations[$0] }
            .filter { $0.state == .active && $0.owner?.userID == user }
        let excess = active.count + (others[user] ?? 0) - max
        guard excess > 0 else { return }
        let oldest = active.filter { $0.key != after.key }
            .sorted { ($0.lastSeenAt, $0.key) < ($1.lastSeenAt, $1.key) }
        for former in oldest.prefix(excess) {
            if let address = former.address, holders[address] == former.key { holders[address] = nil }
            supersede(former, .limit, by: registration.actor, registration.catalogue)
        }
    }

    /// R4: another holder of the token loses it.
    ///
    /// - Returns: the former holder before the change.
    @discardableResult
    private mutating func release(
        _ address: TokenAddress, to key: InstallationKey, by actor: String, _ catalogue: TopicCatalogue
    ) -> Installation? {
        guard let holder = holders[address], holder != key, let former = installations[holder] else { return nil }
        holders[address] = nil
        supersede(former, .tokenMoved, by: actor, catalogue)
        return former
    }

    /// R4: an installation loses its token and becomes `superseded`.
    private mutating func supersede(
        _ former: Installation, _ reason: TokenEvent.Reason, by actor: String, _ catalogue: TopicCatalogue
    ) {
        var after = former
        after.dropToken()
        after.state = .superseded
        after.generation += 1
        after.beginEpoch()
        after.stateChangedAt = time(of: former)
        tokens.end(TokenKind.allCases, on: former.key)
        if !former.topicChoices.isEmpty {
            after.topicChoices = TopicChoices()
            after.topics = inherited(by: after)
        }
        installations[former.key] = after
        append(.superseded, reason, by: actor, former, after, previousUserID: former.owner?.userID)
        let reset = events.last.flatMap { TopicsEvent($0, ending: former.topicChoices, in: catalogue) }
        if let reset { topicsSteps.append(reset) }
    }

    /// R1: identifies a token by its address that was registered before addresses had spellings, and was identified by
    /// its whole text. If another installation holds the address, the one that registered last keeps it (R4).
    ///
    /// - Parameters:
    ///   - key: of an installation that has such a token, or has registered another one meanwhile.
    ///   - sha256: the hash function.
    public mutating func readdress(
        _ key: InstallationKey, by actor: String, in catalogue: TopicCatalogue, sha256: ([UInt8]) -> [UInt8]
    ) {
        guard var after = installations[key], let old = after.address else { return }
        after.tokenSHA256 = after.spelling?.addressSHA256(by: sha256) ?? old.sha256
        guard let address = after.address, address != old else { return }
        if holders[old] == key { holders[old] = nil }
        if let other = holders[address].flatMap({ installations[$0] }), other.hasRegistered(since: after) {
            return supersede(after, .tokenMoved, by: actor, catalogue)
        }
        release(address, to: key, by: actor, catalogue)
        (holders[address], installations[key]) = (key, after)
    }

    /// Applies a registration's choices about topics, over those that an imported installation passes on with its
    /// token.
    private func choose(
        _ after: inout Installation, by registration: Registration, taking taken: Installation?
    ) {
        if let taken { after.topicChoices = after.topicChoices.over(taken.handedChoices(to: registration.owner)) }
        _ = after.topicChoices.apply(registration.topics)
        after.topics = after.topicChoices.over(inherited(by: after))
    }

    private func inherited(by installation: Installation) -> TopicChoices {
        installation.owner.flatMap { userChoices[$0.userID] } ?? TopicChoices()
    }

    /// R5: older installations of the same device are probably replaced. They keep token and owner, since devices may
    /// share a keychain.
    private mutating func markReplaced(by registration: Registration) {
        guard let fingerprint = registration.fingerprint else { return }
        for key in keychains[KeychainKey(registration.key.app, fingerprint.keychainID)] ?? [] {
            guard key != registration.key, let older = installations[key], older.state == .active,
                let olderFingerprint = older.fingerprint, fingerprint.isSameDevice(as: olderFingerprint)
            else { continue }
            installations[key]?.probablyReplacedBy = registration.key.installID
        }
    }

    private mutating func store(_ after: Installation, by registration: Registration) {
        if let old = installations[after.key]?.address, holders[old] == after.key { holders[old] = nil }
        holders[registration.address] = after.key
        installations[after.key] = after
        rewritten.insert(after.key)
        indexKeychain(of: after)
    }

    private mutating func indexKeychain(of installation: Installation) {
        guard let fingerprint = installation.fingerprint else { return }
        keychains[KeychainKey(installation.key.app, fingerprint.keychainID), default: []].insert(installation.key)
    }

    private mutating func append(
        _ kind: EventKind, _ reason: TokenEvent.Reason, by actor: String, _ before: Installation?,
        _ after: Installation, previousUserID: UserID?
    ) {
        events.append(
            TokenEvent(
                kind, reason, by: actor, at: before.map(time) ?? now, from: before, to: after,
                previousUserID: previousUserID))
    }

    private mutating func appendTopics(
        _ registration: Registration, _ before: Installation?, _ after: Installation, _ reason: TokenEvent.Reason,
        taking taken: Installation?
    ) {
        let previous = (before ?? taken)?.owner?.userID
        let topics = after.topicChoices.changed(
            from: before?.topicChoices ?? TopicChoices(), in: registration.catalogue)
        guard !topics.isEmpty else { return }
        topicsSteps.append(
            TopicsEvent(
                .installation(.init(after)), reason, by: registration.actor, at: before.map(time) ?? now,
                topics: topics, previousUserID: previous == after.owner?.userID ? nil : previous))
    }

    /// An installation's times never go backwards, even if the clock does.
    private func time(of installation: Installation) -> Timestamp { installation.notBefore(now) }
}

/// The typed tokens that one transaction has locked, and the rules by which registrations and calls about single tokens
/// change them.
///
/// A value without I/O: a store loads the sets of the installations that a batch names, and of those that hold one of
/// its tokens, applies the changes in order, and writes `changes`. A token that has expired counts as absent.
public struct LockedTokens: Sendable {
    /// A token that another installation has lost (R1).
    public struct Moved: Sendable {
        public let holder: InstallationKey
        public let token: TypedToken
    }

    /// What becomes of the set of one installation.
    public struct Change: Sendable {
        public let key: InstallationKey
        public fileprivate(set) var removed: [TypedTokenKey] = []
        public fileprivate(set) var written: [TypedToken] = []
    }

    private typealias TokenSet = [TypedTokenKey: TypedToken]

    private var loaded: [InstallationKey: TokenSet]
    private var sets: [InstallationKey: TokenSet]
    private var holders: [TypedTokenAddress: InstallationKey]
    private let now: Timestamp
    /// The installations whose set changed after their last registration: the registration would change it again.
    public private(set) var disturbed: Set<InstallationKey> = []

    /// - Parameters:
    ///   - tokens: all rows of the installations, of one app, with their holders. Expired ones are among them.
    ///   - now: the time of the database.
    public init(_ tokens: [(holder: InstallationKey, token: TypedToken)] = [], now: Timestamp) {
        loaded = tokens.reduce(into: [:]) { $0[$1.holder, default: [:]][$1.token.key] = $1.token }
        sets = loaded
        holders = Dictionary(tokens.map { ($0.token.address, $0.holder) }, uniquingKeysWith: { $1 })
        self.now = now
    }

    /// The rows to write, by installation.
    public var changes: [Change] {
        sets.keys.sorted().compactMap { key in
            let (before, after) = (loaded[key] ?? [:], sets[key] ?? [:])
            let change = Change(
                key: key, removed: before.keys.filter { after[$0] == nil },
                written: after.values.filter { before[$0.key] != $0 })
            return change.removed.isEmpty && change.written.isEmpty ? nil : change
        }
    }

    /// Those that have not expired, in any order.
    func present(on key: InstallationKey) -> [TypedToken] {
        (sets[key] ?? [:]).values.filter { !$0.isExpired(at: now) }
    }

    func holder(of address: TypedTokenAddress) -> InstallationKey? { holders[address] }

    /// The number of tokens that have not expired.
    public func count(on key: InstallationKey) -> Int {
        (sets[key] ?? [:]).values.count { !$0.isExpired(at: now) }
    }

    /// The digest of a registration as its installation's row stores it.
    public func stored(_ digest: [UInt8], of registration: Registration) -> [UInt8] {
        guard let sent = registration.tokens else { return digest }
        guard !disturbed.contains(registration.key) else { return StoredDigest.outdated }
        let expiry = (sets[registration.key] ?? [:]).values.compactMap(\.expiresAt).min()
        return StoredDigest.bytes(digest, expiry: expiry, expired: sent.count { $0.isPast(at: now) })
    }

    /// Whether a complete set differs from the stored one.
    func isChanged(by sent: [SentTypedToken], on key: InstallationKey) -> Bool {
        set(from: sent, on: key) != sets[key] ?? [:]
    }

    /// A registration: the sent tokens replace the set. Those whose `expiresAt` is past are left out.
    ///
    /// - Returns: what others have lost, and how many were left out.
    mutating func replace(by sent: [SentTypedToken], on key: InstallationKey) -> (moved: [Moved], expired: Int) {
        let after = set(from: sent, on: key)
        let moved = store(after, on: key)
        disturbed.remove(key)
        return (moved, sent.count { $0.isPast(at: now) })
    }

    /// A call about one token.
    ///
    /// - Parameter sent: not past.
    mutating func put(_ sent: SentTypedToken, on key: InstallationKey) throws(TypedTokenRefusal) -> [Moved] {
        var after = (sets[key] ?? [:]).filter { !$0.value.isExpired(at: now) }
        after[sent.key] = received(sent, on: key)
        guard after.count <= SentTypedToken.countMax else { throw .tooMany }
        if after != sets[key] { disturbed.insert(key) }
        return store(after, on: key)
    }

    mutating func remove(_ name: TypedTokenKey, on key: InstallationKey) {
        guard sets[key]?.removeValue(forKey: name) != nil else { return }
        disturbed.insert(key)
    }

    /// A verdict that the breaker does not believe: the token is not handed out until an administrator decides, or a
    /// registration brings it again.
    mutating func hold(_ name: TypedTokenKey, on key: InstallationKey) {
        setHeld(name, on: key, at: now)
    }

    /// Carries out an administrator's decision: the held tokens that it concerns are removed, or handed out again.
    ///
    /// - Returns: how many there are of each kind.
    public mutating func apply(_ repair: FeedbackRepair) -> [TokenKind: Int] {
        var counts: [TokenKind: Int] = [:]
        for (key, set) in sets {
            for token in set.values where repair.concerns(token) && !token.isExpired(at: now) {
                counts[token.key.kind, default: 0] += 1
                switch repair.decision {
                case .release: remove(token.key, on: key)
                case .restore: setHeld(token.key, on: key, at: nil)
                }
            }
        }
        return counts
    }

    private mutating func setHeld(_ name: TypedTokenKey, on key: InstallationKey, at time: Timestamp?) {
        guard let token = sets[key]?[name] else { return }
        sets[key]?[name] = token.held(at: time)
        disturbed.insert(key)
    }

    /// The binding to which these tokens belong has ended (`Installation.endedKinds`). The store deletes all rows of
    /// these kinds, so `changes` has none of them.
    mutating func end(_ kinds: [TokenKind], on key: InstallationKey) {
        guard !kinds.isEmpty else { return }
        for token in (sets[key] ?? [:]).values where kinds.contains(token.key.kind) { holders[token.address] = nil }
        loaded[key] = loaded[key]?.filter { !kinds.contains($0.key.kind) }
        sets[key] = sets[key]?.filter { !kinds.contains($0.key.kind) }
    }

    private func set(from sent: [SentTypedToken], on key: InstallationKey) -> TokenSet {
        Dictionary(
            sent.filter { !$0.isPast(at: now) }.map { ($0.key, received($0, on: key)) }, uniquingKeysWith: { $1 })
    }

    /// An unchanged token keeps the time of its first receipt, and with it the end that follows from its kind.
    private func received(_ sent: SentTypedToken, on key: InstallationKey) -> TypedToken {
        let present = sets[key]?[sent.key]
        if let present, !present.isExpired(at: now), present.token.text == sent.token.text {
            let token = sent.received(at: present.receivedAt)
            if !token.isExpired(at: now) { return token }
        }
        return sent.received(at: now)
    }

    /// R1: takes the tokens from other installations.
    private mutating func store(_ after: TokenSet, on key: InstallationKey) -> [Moved] {
        var moved: [Moved] = []
        for address in Set(after.values.map(\.address)) {
            if let holder = holders[address], holder != key, let lost = release(address, from: holder) {
                moved.append(Moved(holder: holder, token: lost))
            }
            holders[address] = key
        }
        for (_, token) in sets[key] ?? [:] where holders[token.address] == key {
            if !after.values.contains(where: { $0.address == token.address }) { holders[token.address] = nil }
        }
        sets[key] = after
        return moved.sorted { $0.holder == $1.holder ? $0.token.isBefore($1.token) : $0.holder < $1.holder }
    }

    /// - Returns: the lost token, under one of its names; nil if it had expired.
    private mutating func release(_ address: TypedTokenAddress, from holder: InstallationKey) -> TypedToken? {
        let lost = (sets[holder] ?? [:]).values.filter { $0.address == address }
        for token in lost { sets[holder]?[token.key] = nil }
        if !lost.isEmpty { disturbed.insert(holder) }
        return lost.first { !$0.isExpired(at: now) }
    }
}

extension SentTypedToken {
    fileprivate func received(at time: Timestamp) -> TypedToken {
        TypedToken(
            key: key, token: token, sha256: sha256, receivedAt: time,
            expiresAt: expiresAt ?? key.kind.lifetime.map { time.advanced(by: $0) })
    }
}

extension TypedToken {
    fileprivate func isBefore(_ other: TypedToken) -> Bool {
        key.kind == other.key.kind
            ? sha256.lexicographicallyPrecedes(other.sha256) : key.kind.rawValue < other.key.kind.rawValue
    }
}

extension Installation {
    /// The kinds of typed tokens that end between two states of an installation; empty if none does. They belong to the
    /// binding: they end with the owner, and when the installation is no longer active at Apple's provider. A suspect
    /// one keeps them. A logout that keeps the installation as anonymous keeps those that are no user's.
    ///
    /// - Parameter after: nil: it was deleted.
    public static func endedKinds(from before: Installation, to after: Installation?) -> [TokenKind] {
        guard before.mayHaveTypedTokens else { return [] }
        guard let after, after.mayHaveTypedTokens else { return TokenKind.allCases }
        // The epoch changes with the owner, and when another installation takes the token.
        guard before.epoch != after.epoch || before.owner?.userID != after.owner?.userID else { return [] }
        let staysActive = after.state == .active && after.registrationGeneration == before.registrationGeneration
        return staysActive ? TokenKind.allCases.filter { !$0.outlivesOwner } : TokenKind.allCases
    }

    public var mayHaveTypedTokens: Bool { provider.isApple && (state == .active || state == .suspect) }
}

extension TokenEvent {
    /// The former holder has lost a typed token and keeps the rest of its set, so its generation stays.
    init(_ moved: LockedTokens.Moved, from former: Installation, by actor: String, at now: Timestamp) {
        self.init(
            former.key, .tokenMoved, Reason(moved.token.key.kind), by: actor, at: former.notBefore(now),
            provider: moved.token.token.provider, tokenSHA256: moved.token.sha256, userID: former.owner?.userID,
            previousUserID: former.owner?.userID, state: former.state, generationBefore: former.generation,
            generationAfter: former.generation)
    }
}

extension TokenEvent.Reason {
    /// Both have the same text.
    fileprivate init(_ kind: TokenKind) {
        self =
            switch kind {
            case .liveActivityStart: .liveActivityStart
            case .liveActivity: .liveActivity
            case .widget: .widget
            case .voip: .voip
            case .location: .location
            case .complication: .complication
            case .fileProvider: .fileProvider
            case .pushToTalk: .pushToTalk
            }
    }
}

/// A registration, `PUT …/installations/{installId}`, with everything that the rules need. It moves from queue to
/// queue, so it is a reference: copying its values would copy dozens of texts.
public final class Registration: Sendable {
    public let key: InstallationKey
    public let token: Token
    public let keys: WebPushKeys?
    public let snapshot: Snapshot
    public let claim: RegistrationClaim
    /// The choices about topics in the registration, for the installation.
    public let topics: [TopicChange]
    /// The complete set of typed tokens; nil: the present one stays.
    public let tokens: [SentTypedToken]?
    /// The app's topics.
    let catalogue: TopicCatalogue
    /// The caller that gets the response: a refusal shows the generation only to a caller that may read the record.
    public let reader: Requester
    /// How long tombstones of ended sessions are kept.
    public let sessionTombstones: ISO8601Duration
    /// How many active installations the owner may have; nil: any number.
    public let installationsMax: Int?
    /// The digest of the token's address.
    public let tokenSHA256: [UInt8]
    /// The digest of the snapshot's canonical bytes.
    public let snapshotDigest: [UInt8]
    /// The caller's role and key id, never the user.
    public let actor: String

    /// - Parameters:
    ///   - reader: by default the owner, or an anonymous client.
    ///   - sha256: the hash function. This module has none.
    public init(
        _ request: RegistrationRequest, of app: App, by claim: RegistrationClaim, reader: Requester? = nil,
        actor: String, sha256: ([UInt8]) -> [UInt8]
    ) {
        key = InstallationKey(app: app.number, installID: request.installID)
        token = request.token
        keys = request.keys
        snapshot = request.snapshot
        topics = request.topics
        tokens = request.tokens
        catalogue = app.topics
        self.claim = claim
        self.reader = reader ?? claim.owner.map { .user($0.userID) } ?? .anonymous
        sessionTombstones = app.policy.sessionTombstones
        installationsMax = app.policy.installationsPerUser
        self.actor = actor
        tokenSHA256 = request.token.addressSHA256(by: sha256)
        snapshotDigest = Array(sha256(request.snapshot.canonicalBytes).prefix(Self.digestBytes))
    }

    /// The same registration for the owner that the locked installation keeps or loses (fine print 10).
    func authorized(on present: Installation?, at now: Timestamp) throws(RegistrationRefusal) -> Registration {
        let bringsToken = present.map { match($0) != .other } ?? false
        let claim = try claim.resolved(on: present, bringsToken: bringsToken, at: now)
        return claim.owner == owner ? self : Registration(self, by: claim)
    }

    private init(_ other: Registration, by claim: RegistrationClaim) {
        (key, token, keys, snapshot) = (other.key, other.token, other.keys, other.snapshot)
        (topics, tokens) = (other.topics, other.tokens)
        (self.claim, catalogue, reader) = (claim, other.catalogue, other.reader)
        (sessionTombstones, installationsMax) = (other.sessionTombstones, other.installationsMax)
        actor = other.actor
        (tokenSHA256, snapshotDigest) = (other.tokenSHA256, other.snapshotDigest)
    }

    /// 128 bits of SHA-256 suffice: digests are compared within one installation only, so a client could produce a
    /// collision only with its own snapshots.
    public static let digestBytes = 16

    public var owner: Owner? { claim.owner }
    public var credentialIssuedAt: Timestamp? { claim.credentialIssuedAt }
    public var precondition: Precondition? { claim.precondition }

    var fingerprint: DeviceFingerprint? { DeviceFingerprint(snapshot.device) }

    public var address: TokenAddress {
        TokenAddress(app: key.app, provider: token.provider, sha256: tokenSHA256)
    }

    /// R2: whether the registration changes nothing, but perhaps typed tokens: token, owner, session, state, snapshot
    /// and choices are stored already.
    public func repeats(_ present: Installation) -> Bool {
        keepsBinding(of: present) && present.keys == keys && present.owner == owner
            && present.probablyReplacedBy == nil && present.snapshotDigest == snapshotDigest
            && present.topicChoices.contain(topics)
    }

    /// Whether token, owner, session and state stay as they are, and with them the generation.
    func keepsBinding(of present: Installation) -> Bool {
        present.state == .active && match(present) == .same && isOwner(of: present)
    }

    /// How the token compares with that of an installation.
    func match(_ present: Installation) -> TokenMatch {
        TokenMatch(
            isSameAddress: present.address?.provider == token.provider && present.tokenSHA256 == tokenSHA256,
            isSameSpelling: token.spelling.map { $0 == present.spelling })
    }

    /// R7: whether the logouts of the user and of the session must be read before this registration is accepted.
    ///
    /// This is necessary if the user or session changes. The present owner needs no check: a session that ends loses
    /// its installations in the same transaction. The exception is a credential that may be older than a logout
    /// (`RegistrationClaim.mayPrecedeLogout`).
    public func beginsBinding(on present: Installation?) -> Bool {
        guard let owner else { return false }
        return !owner.isSame(as: present?.owner) || claim.mayPrecedeLogout(before: present?.credentialIssuedAt)
    }

    /// Whether user and session stay, too.
    func isOwner(of present: Installation) -> Bool {
        owner?.isSame(as: present.owner) ?? (present.owner == nil)
    }
}

/// R8: the precondition of `If-Match` (RFC 9110, section 13.1.1).
public enum Precondition: Hashable, Sendable {
    /// `*`: the installation exists.
    case exists
    /// One of these is the current generation.
    case generation([Int64])

    /// - Parameter present: nil if the installation does not exist.
    func fails(on present: Installation?) -> Bool {
        present.map { !holds(for: $0.generation) } ?? true
    }

    public func holds(for generation: Int64) -> Bool {
        switch self {
        case .exists: true
        case .generation(let known): known.contains(generation)
        }
    }
}

/// The outcome of a registration.
public struct RegistrationOutcome: Hashable, Sendable {
    public enum Status: String, Sendable {
        case created, updated, unchanged
    }

    public let status: Status
    public let generation: Int64
    /// The generation at which the present epoch of notifications began.
    public let epoch: Int64
    /// Of the installation's token.
    public let provider: Provider
    public let state: InstallationState
    public let userID: UserID?
    public let lastSeenAt: Timestamp
    /// How many of the sent typed tokens were left out, because they have expired; nil if none were sent.
    public var expiredTokens: Int?

    public init(
        status: Status, generation: Int64, epoch: Int64, provider: Provider, state: InstallationState,
        userID: UserID?, lastSeenAt: Timestamp, expiredTokens: Int? = nil
    ) {
        (self.status, self.generation, self.epoch, self.provider) = (status, generation, epoch, provider)
        (self.state, self.userID, self.lastSeenAt) = (state, userID, lastSeenAt)
        self.expiredTokens = expiredTokens
    }

    init(_ status: Status, _ installation: Installation) {
        self.init(
            status: status, generation: installation.generation, epoch: installation.epoch,
            provider: installation.provider, state: installation.state, userID: installation.owner?.userID,
            lastSeenAt: installation.lastSeenAt)
    }
}

/// Why a registration was refused. Nothing was changed.
public enum RegistrationRefusal: Error, Hashable, Sendable {
    /// R8: `If-Match` failed. The current generation, 0 if there is no installation; nil if the caller may not read the
    /// record.
    case outdated(generation: Int64?)
    /// R7: the session has ended, or the user was logged out after the credential was issued.
    case sessionEnded
    /// The publishable key changes the installation of a user only with the token or the present delivery key (fine
    /// print 10).
    case owned
}

/// The content of a registration: the token, and the state of the device and its settings, which replace the stored
/// ones completely; choices about topics; and typed tokens.
public struct RegistrationRequest: Hashable, Sendable {
    public var token: Token
    /// Present exactly for Web Push.
    public var keys: WebPushKeys?
    public var snapshot: Snapshot
    /// The only part that is merged: absent choices stay.
    public var topics: [TopicChange]
    /// Those of an APNs installation, which replace the stored ones completely; nil: these stay.
    public var tokens: [SentTypedToken]?

    public init(
        token: Token, keys: WebPushKeys?, snapshot: Snapshot, topics: [TopicChange] = [],
        tokens: [SentTypedToken]? = nil
    ) {
        (self.token, self.keys, self.snapshot, self.topics) = (token, keys, snapshot, topics)
        self.tokens = tokens
    }

    public var installID: InstallID { snapshot.device.installID }
}

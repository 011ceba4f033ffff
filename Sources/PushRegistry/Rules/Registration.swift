/// What a caller asks for by `PUT …/installations/{installId}`, with all that the rules need to decide on it.
public struct Registration: Sendable {
    public let key: InstallationKey
    public let token: Token
    public let keys: WebPushKeys?
    public let snapshot: Snapshot
    public let owner: Owner?
    /// When the credential was issued, where it tells (a JWT's `iat`).
    public let credentialIssuedAt: Timestamp?
    public let precondition: Precondition?
    /// Who gets the answer: a refusal shows the generation only to a caller that may read the record.
    public let reader: Requester
    public let touchInterval: ISO8601Duration
    /// How long it is remembered that a session was ended.
    public let sessionTombstones: ISO8601Duration
    /// Of the token's canonical text.
    public let tokenSHA256: [UInt8]
    /// Of the snapshot's canonical bytes.
    public let snapshotDigest: [UInt8]
    /// Who asked: the role and the key's id, never the user.
    public let actor: String

    /// - Parameters:
    ///   - reader: the owner, or an anonymous client, unless the caller names another one.
    ///   - sha256: the hash function. The domain has none of its own.
    public init(
        _ request: RegistrationRequest, of app: App, owner: Owner?, credentialIssuedAt: Timestamp? = nil,
        precondition: Precondition?, reader: Requester? = nil, actor: String, sha256: ([UInt8]) -> [UInt8]
    ) {
        key = InstallationKey(app: app.number, installID: request.installID)
        token = request.token
        keys = request.keys
        snapshot = request.snapshot
        self.owner = owner
        self.credentialIssuedAt = credentialIssuedAt
        self.precondition = precondition
        self.reader = reader ?? owner.map { .user($0.userID) } ?? .anonymous
        touchInterval = app.policy.touchInterval
        sessionTombstones = app.policy.sessionTombstones
        self.actor = actor
        tokenSHA256 = sha256(Array(request.token.text.utf8))
        snapshotDigest = Array(sha256(request.snapshot.canonicalBytes).prefix(Self.digestBytes))
    }

    /// 128 bits of SHA-256 tell two snapshots of one installation apart: a client can only collide with itself.
    public static let digestBytes = 16

    public var address: TokenAddress {
        TokenAddress(app: key.app, provider: token.provider, sha256: tokenSHA256)
    }

    /// R2: whether `present` already says all that this registration says, its binding and its snapshot alike.
    public func says(nothingNewTo present: Installation) -> Bool {
        bindsAlike(present) && present.keys == keys && present.owner == owner
            && present.probablyReplacedBy == nil && present.snapshotDigest == snapshotDigest
    }

    /// R2: whether a recorded sight is old enough to be moved.
    func isDue(since lastSeenAt: Timestamp, at now: Timestamp) -> Bool {
        now.microseconds - lastSeenAt.microseconds >= touchInterval.seconds * 1_000_000
    }

    /// R2: the answer to a registration of which the registry holds every word, nil where something must be decided or
    /// written all the same.
    public func outcomeIfUnchanged(
        generation: Int64, lastSeenAt: Timestamp, now: Timestamp
    ) -> RegistrationOutcome? {
        guard precondition?.holds(for: generation) ?? true, !isDue(since: lastSeenAt, at: now) else { return nil }
        return RegistrationOutcome(
            status: .unchanged, generation: generation, state: .active, userID: owner?.userID, lastSeenAt: lastSeenAt)
    }

    /// Whether token, owner, session and state stay as they are, and with them the generation.
    func bindsAlike(_ present: Installation) -> Bool {
        present.state == .active && present.provider == token.provider && present.tokenSHA256 == tokenSHA256
            && isOwner(of: present)
    }

    /// R7: whether the logouts of the user and of the session must be read before this registration is accepted.
    ///
    /// A binding to another user or session needs it. A registration of the present owner does not: the end of a
    /// session unbinds its installations in the same transaction, so the session of a binding that stands has not
    /// ended. The one exception is a credential that may be older than a logout (`mayPrecedeLogout`).
    public func beginsBinding(on present: Installation?) -> Bool {
        guard let owner else { return false }
        return !owner.isSame(as: present?.owner) || mayPrecedeLogout(before: present?.credentialIssuedAt)
    }

    /// R7: whether a user-wide logout may lie between the issue of this credential and that of the credential that
    /// bound the installation. A credential with a session is judged by its session instead.
    ///
    /// - Parameter boundIssuedAt: when the credential of the binding was issued; nil if it has no such time.
    public func mayPrecedeLogout(before boundIssuedAt: Timestamp?) -> Bool {
        guard let credentialIssuedAt, owner != nil, owner?.session == nil else { return false }
        return boundIssuedAt.map(credentialIssuedAt.isInEarlierSecond) ?? true
    }

    /// Whether this may touch more than `present` itself: the token's holder (R4), whom a new installation replaces
    /// (R5), or a user and session (R7).
    public func concernsOthers(than present: Installation?) -> Bool {
        guard let present else { return true }
        return present.address != address || beginsBinding(on: present)
    }

    private func isOwner(of present: Installation) -> Bool {
        owner?.isSame(as: present.owner) ?? (present.owner == nil)
    }
}

/// R8: the generation that a caller last saw, by `If-Match` (RFC 9110, section 13.1.1).
public enum Precondition: Hashable, Sendable {
    /// `*`: the installation exists.
    case exists
    /// One of these generations is the present one.
    case generation([Int64])

    /// Whether it fails on the installation as it is, or on the absence of one.
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

/// What a registration came to.
public struct RegistrationOutcome: Hashable, Sendable {
    public enum Status: String, Sendable {
        case created, updated, unchanged
    }

    public let status: Status
    public let generation: Int64
    public let state: InstallationState
    public let userID: UserID?
    public let lastSeenAt: Timestamp

    public init(
        status: Status, generation: Int64, state: InstallationState, userID: UserID?, lastSeenAt: Timestamp
    ) {
        self.status = status
        self.generation = generation
        self.state = state
        self.userID = userID
        self.lastSeenAt = lastSeenAt
    }

    init(_ status: Status, _ installation: Installation) {
        self.init(
            status: status, generation: installation.generation, state: installation.state,
            userID: installation.owner?.userID, lastSeenAt: installation.lastSeenAt)
    }
}

/// Why a rule refused a caller; nothing was changed.
public enum RegistrationRefusal: Error, Hashable, Sendable {
    /// R8: `If-Match` does not hold. The present generation, 0 if there is no installation; nil if the caller may not
    /// read the record.
    case outdated(generation: Int64?)
    /// R7: the session was logged out, or the credential was issued before its user was.
    case sessionEnded
}

/// What a caller asks for by `PUT …/installations/{installId}`, with all that the rules need to decide on it.
public struct Registration: Sendable {
    public let key: InstallationKey
    public let token: Token
    public let tokenSHA256: [UInt8]
    public let keys: WebPushKeys?
    public let owner: Owner?
    public let precondition: Precondition?
    public let snapshot: Snapshot
    public let snapshotDigest: [UInt8]
    public let touchInterval: ISO8601Duration
    /// Who asked: the role and the key's id, never the user.
    public let actor: String

    public init(
        key: InstallationKey, token: Token, tokenSHA256: [UInt8], keys: WebPushKeys?, owner: Owner?,
        precondition: Precondition?, snapshot: Snapshot, snapshotDigest: [UInt8], touchInterval: ISO8601Duration,
        actor: String
    ) {
        self.key = key
        self.token = token
        self.tokenSHA256 = tokenSHA256
        self.keys = keys
        self.owner = owner
        self.precondition = precondition
        self.snapshot = snapshot
        self.snapshotDigest = snapshotDigest
        self.touchInterval = touchInterval
        self.actor = actor
    }

    public var address: TokenAddress {
        TokenAddress(app: key.app, provider: token.provider, sha256: tokenSHA256)
    }

    /// R2: whether `present` already says all that this registration says, its binding and its snapshot alike.
    public func says(nothingNewTo present: Installation) -> Bool {
        bindsAlike(present) && present.keys == keys && present.owner == owner
            && present.probablyReplacedBy == nil && present.snapshotDigest == snapshotDigest
    }

    /// R2: whether the last recorded sight of `present` is old enough to be moved.
    public func touches(_ present: Installation, at now: Timestamp) -> Bool {
        now.microseconds - present.lastSeenAt.microseconds >= touchInterval.seconds * 1_000_000
    }

    /// Whether token, owner, session and state stay as they are, and with them the generation.
    func bindsAlike(_ present: Installation) -> Bool {
        present.state == .active && present.provider == token.provider && present.tokenSHA256 == tokenSHA256
            && isOwner(of: present)
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

    /// Nil where it holds, else the refusal with the present generation (0: there is no installation).
    public func refusal(of present: Installation?) -> RegistrationRefusal? {
        switch self {
        case .exists where present != nil: nil
        case .generation(let known) where present.map { known.contains($0.generation) } ?? false: nil
        default: .outdated(generation: present?.generation ?? 0)
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

    public init(_ status: Status, _ installation: Installation) {
        self.status = status
        generation = installation.generation
        state = installation.state
        userID = installation.owner?.userID
        lastSeenAt = installation.lastSeenAt
    }
}

/// Why a rule refused a caller; nothing was changed.
public enum RegistrationRefusal: Error, Hashable, Sendable {
    /// R8: `If-Match` does not hold. The present generation, or 0 where the installation is unknown.
    case outdated(generation: Int64)
}

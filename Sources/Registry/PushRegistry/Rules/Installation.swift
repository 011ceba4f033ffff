/// The part of an installation that the rules use: its token, owner, state and times. Of the snapshot, only the digest
/// and the fingerprint of the device take part.
public struct Installation: Hashable, Sendable {
    public let key: InstallationKey
    public var provider: Provider
    /// Of the token's address.
    public var tokenSHA256: [UInt8]?
    /// The token as it was last registered, if its address may have other spellings.
    public var spelling: Token?
    public var keys: WebPushKeys?
    public var owner: Owner?
    /// The `iat` of the JWT that set the owner; nil if it had none.
    public var credentialIssuedAt: Timestamp?
    public var state: InstallationState
    /// Incremented by each change of token, owner, session or state.
    public var generation: Int64
    /// The generation after the last registration.
    public var registrationGeneration: Int64
    /// The generation at which the present epoch of notifications began. Nobody can fetch notifications of an earlier
    /// epoch. Generations never repeat, so an ended epoch never begins again.
    public var epoch: Int64
    public var probablyReplacedBy: InstallID?
    public let createdAt: Timestamp
    /// When a registration last changed token, owner, session or state.
    public var registeredAt: Timestamp
    /// When a registration was last recorded.
    public var lastSeenAt: Timestamp
    public var stateChangedAt: Timestamp
    public var snapshotDigest: [UInt8]
    public var fingerprint: DeviceFingerprint?
    /// The choices on this installation. They end with the owner's binding.
    public var topicChoices = TopicChoices()
    /// These choices, and those of the owner about other topics.
    public var topics = TopicChoices()
    /// Whether it was imported, and its app has not registered since.
    public var isImported = false

    public init(
        key: InstallationKey, provider: Provider, tokenSHA256: [UInt8]?, keys: WebPushKeys?, owner: Owner?,
        credentialIssuedAt: Timestamp? = nil, state: InstallationState, generation: Int64,
        registrationGeneration: Int64, epoch: Int64, probablyReplacedBy: InstallID?,
        createdAt: Timestamp, registeredAt: Timestamp, lastSeenAt: Timestamp, stateChangedAt: Timestamp,
        snapshotDigest: [UInt8], fingerprint: DeviceFingerprint?
    ) {
        (self.key, self.provider, self.tokenSHA256, self.keys) = (key, provider, tokenSHA256, keys)
        (self.owner, self.credentialIssuedAt, self.state) = (owner, credentialIssuedAt, state)
        (self.generation, self.registrationGeneration, self.epoch) = (generation, registrationGeneration, epoch)
        (self.probablyReplacedBy, self.createdAt) = (probablyReplacedBy, createdAt)
        (self.registeredAt, self.lastSeenAt, self.stateChangedAt) = (registeredAt, lastSeenAt, stateChangedAt)
        (self.snapshotDigest, self.fingerprint) = (snapshotDigest, fingerprint)
    }

    /// Whether a logout or the end of a session has ended its binding since it registered last. It may be active as
    /// anonymous since. Every registration by which an epoch begins has the epoch's generation.
    var isLoggedOut: Bool { epoch > registrationGeneration }

    /// Another epoch of notifications begins with the present generation: the owner has changed, was logged out, or
    /// lost the token to another installation.
    mutating func beginEpoch() {
        epoch = generation
    }

    /// The same installation in another state, which a verdict or the night job gives it. It keeps its owner. A
    /// superseded one loses its token: probably the app was reinstalled (R5). Its notifications stay, since it may be a
    /// second device.
    func retired(as state: InstallationState, at now: Timestamp) -> Installation {
        var after = self
        if state == .superseded { after.dropToken() }
        after.state = state
        after.generation += 1
        after.stateChangedAt = notBefore(now)
        return after
    }

    mutating func dropToken() {
        (tokenSHA256, spelling, keys) = (nil, nil, nil)
    }

    /// The choices that an imported installation passes to the first registration of its app, under its own id or the
    /// app's: all choices, or none if another user registers.
    func handedChoices(to owner: Owner?) -> TopicChoices {
        guard isImported, let user = self.owner?.userID, let next = owner?.userID, user != next else {
            return isImported ? topicChoices : TopicChoices()
        }
        return TopicChoices()
    }

    /// The generation at which a life begins, by the number of its transaction. It is above those of earlier lives:
    /// each transaction has another number, and adds to an installation's generation three at most.
    public static func firstGeneration(_ number: Int64) -> Int64 { number * 16 }

    /// The lowest number whose first generation is above this one.
    public static func number(after generation: Int64) -> Int64 { generation / 16 + 1 }

    /// `time`, but never earlier than the previous change of the installation.
    func notBefore(_ time: Timestamp) -> Timestamp {
        max(time, max(registeredAt, lastSeenAt, stateChangedAt))
    }

    /// Whether its last registration came after that of another installation.
    func hasRegistered(since other: Installation) -> Bool {
        (lastSeenAt, registeredAt, key) > (other.lastSeenAt, other.registeredAt, other.key)
    }

    /// Nil if it holds no token.
    public var address: TokenAddress? {
        tokenSHA256.map { TokenAddress(app: key.app, provider: provider, sha256: $0) }
    }
}

/// The state of an installation.
public enum InstallationState: String, CaseIterable, Hashable, Sendable {
    case active
    case loggedOut
    /// Its token moved to another installation, or the app was reinstalled.
    case superseded
    /// The provider reported the token as dead.
    case unregistered
    /// The provider's verdict may be due to a wrong configuration, or older than the last registration.
    case suspect
    /// Not seen for longer than the app's policy allows.
    case stale
}

/// The user to whom an installation belongs, and the sign-in session if it has one.
public struct Owner: Hashable, Sendable {
    public struct Session: Hashable, Sendable {
        public let id: SessionID
        public let expiresAt: Timestamp?

        public init(id: SessionID, expiresAt: Timestamp?) {
            (self.id, self.expiresAt) = (id, expiresAt)
        }
    }

    public let userID: UserID
    public let session: Session?

    public init(userID: UserID, session: Session? = nil) {
        (self.userID, self.session) = (userID, session)
    }

    /// Whether user and session are the same. The session's expiry may differ.
    public func isSame(as other: Owner?) -> Bool {
        userID == other?.userID && session?.id == other?.session?.id
    }
}

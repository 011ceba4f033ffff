/// The number under which the store keeps an app. Not its public name, which is `AppID`.
public struct AppNumber: Hashable, Comparable, Sendable {
    public let rawValue: Int32

    public init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    public static func < (left: AppNumber, right: AppNumber) -> Bool { left.rawValue < right.rawValue }
}

/// What identifies an installation. Its order is the order in which installations are locked.
public struct InstallationKey: Hashable, Comparable, Sendable {
    public let app: AppNumber
    public let installID: InstallID

    public init(app: AppNumber, installID: InstallID) {
        self.app = app
        self.installID = installID
    }

    public static func < (left: InstallationKey, right: InstallationKey) -> Bool {
        left.app == right.app ? left.installID.rawValue < right.installID.rawValue : left.app < right.app
    }
}

/// What identifies a token: its canonical form's SHA-256 under its app and provider. R1 holds over this.
public struct TokenAddress: Hashable, Sendable {
    public let app: AppNumber
    public let provider: Provider
    public let sha256: [UInt8]

    public init(app: AppNumber, provider: Provider, sha256: [UInt8]) {
        self.app = app
        self.provider = provider
        self.sha256 = sha256
    }

    /// A digest is as good as random: some bytes of it tell addresses apart, and hashing all that there is costs ten
    /// times as much.
    public func hash(into hasher: inout Hasher) {
        sha256.prefix(8).withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// The user that an installation is bound to, and the sign-in session, if one was named.
public struct Owner: Hashable, Sendable {
    public struct Session: Hashable, Sendable {
        public let id: SessionID
        public let expiresAt: Timestamp?

        public init(id: SessionID, expiresAt: Timestamp?) {
            self.id = id
            self.expiresAt = expiresAt
        }
    }

    public let userID: UserID
    public let session: Session?

    public init(userID: UserID, session: Session? = nil) {
        self.userID = userID
        self.session = session
    }

    /// The same user in the same session; a later expiry of it does not make another owner.
    func isSame(as other: Owner?) -> Bool {
        userID == other?.userID && session?.id == other?.session?.id
    }
}

/// An installation as the rules see it: its binding and its times. The snapshot takes part only by its digest and by
/// the three identifiers that tell a reinstall.
public struct Installation: Hashable, Sendable {
    public let key: InstallationKey
    public var provider: Provider
    public var tokenSHA256: [UInt8]?
    public var keys: WebPushKeys?
    public var owner: Owner?
    /// When the credential was issued by which the owner was bound, where it told.
    public var credentialIssuedAt: Timestamp?
    public var state: InstallationState
    /// The version of the binding: grows by one with each change of token, owner, session or state.
    public var generation: Int64
    /// The generation after the last registration.
    public var registrationGeneration: Int64
    public var probablyReplacedBy: InstallID?
    public let createdAt: Timestamp
    /// When a registration last changed the binding.
    public var registeredAt: Timestamp
    /// When a registration was last recorded.
    public var lastSeenAt: Timestamp
    public var stateChangedAt: Timestamp
    public var snapshotDigest: [UInt8]
    public var lineage: Lineage?

    public init(
        key: InstallationKey, provider: Provider, tokenSHA256: [UInt8]?, keys: WebPushKeys?, owner: Owner?,
        credentialIssuedAt: Timestamp? = nil, state: InstallationState, generation: Int64,
        registrationGeneration: Int64, probablyReplacedBy: InstallID?,
        createdAt: Timestamp, registeredAt: Timestamp, lastSeenAt: Timestamp, stateChangedAt: Timestamp,
        snapshotDigest: [UInt8], lineage: Lineage?
    ) {
        self.key = key
        self.provider = provider
        self.tokenSHA256 = tokenSHA256
        self.keys = keys
        self.owner = owner
        self.credentialIssuedAt = credentialIssuedAt
        self.state = state
        self.generation = generation
        self.registrationGeneration = registrationGeneration
        self.probablyReplacedBy = probablyReplacedBy
        self.createdAt = createdAt
        self.registeredAt = registeredAt
        self.lastSeenAt = lastSeenAt
        self.stateChangedAt = stateChangedAt
        self.snapshotDigest = snapshotDigest
        self.lineage = lineage
    }

    /// The time at which something happens to it: never earlier than what happened before.
    func notBefore(_ time: Timestamp) -> Timestamp {
        max(time, max(registeredAt, lastSeenAt, stateChangedAt))
    }

    /// Where the provider finds it, unless it holds no token.
    public var address: TokenAddress? {
        tokenSHA256.map { TokenAddress(app: key.app, provider: provider, sha256: $0) }
    }
}

/// What survives a reinstall on a device, and so tells a reinstall or clone from another device (R5).
public struct Lineage: Hashable, Sendable {
    public let keychainID: String
    public let vendorID: String?
    public let deviceModel: String

    /// Nil for a device without a keychain id: nothing tells its reinstalls.
    public init?(_ device: Device) {
        guard let keychainID = device.keychainID else { return nil }
        self.init(keychainID: keychainID, vendorID: device.vendorID, deviceModel: device.deviceModel)
    }

    public init(keychainID: String, vendorID: String?, deviceModel: String) {
        self.keychainID = keychainID
        self.vendorID = vendorID
        self.deviceModel = deviceModel
    }

    /// Same keychain and same vendor id; where either side has no vendor id, the same model decides.
    func continues(_ older: Lineage) -> Bool {
        guard keychainID == older.keychainID else { return false }
        guard let vendorID, let olderVendorID = older.vendorID else { return deviceModel == older.deviceModel }
        return vendorID == olderVendorID
    }
}

/// An API key of one app. The registry stores only the SHA-256 of its secret.
public struct APIKey: Sendable {
    /// The most keys of an app that are not revoked. Each loop of each service holds all keys.
    public static let countMax = 1_000
    /// How many revoked keys of an app are remembered, and for how long.
    public static let revokedMax = 1_000
    public static let revokedRetention = ISO8601Duration.days(400)

    /// The app has the largest number of keys already.
    public struct TooMany: Error, CustomStringConvertible {
        public init() {}

        public var description: String { "the app has \(countMax) keys that are not revoked, the maximum: revoke some" }
    }

    public let id: String
    public let app: AppNumber
    public let name: String
    public let roles: Set<Role>
    public let secretSHA256: [UInt8]
    public let createdAt: Timestamp
    /// Nil: it does not expire.
    public let expiresAt: Timestamp?
    public let revokedAt: Timestamp?

    public init(
        id: String, app: AppNumber, name: String, roles: Set<Role>, secretSHA256: [UInt8], createdAt: Timestamp,
        expiresAt: Timestamp? = nil, revokedAt: Timestamp?
    ) {
        (self.id, self.app, self.name, self.roles) = (id, app, name, roles)
        (self.secretSHA256, self.createdAt, self.expiresAt) = (secretSHA256, createdAt, expiresAt)
        self.revokedAt = revokedAt
    }

    /// Whether the key is neither revoked nor expired.
    public func isValid(at now: Timestamp) -> Bool {
        revokedAt == nil && (expiresAt.map { now < $0 } ?? true)
    }
}

/// Records the last use of keys.
public protocol KeyUseRecorder: Sendable {
    /// Does not wait for the database. The time is stored with hour precision and may be lost when the process ends.
    func record(_ keyID: String, at time: Timestamp)
}

/// A role of a key: the calls that it may make.
public enum Role: String, CaseIterable, Hashable, Sendable {
    case client, service, sender, marketing, support, admin
}

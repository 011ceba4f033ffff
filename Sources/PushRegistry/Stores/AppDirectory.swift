/// An application and its policy.
public struct App: Sendable {
    public let number: AppNumber
    public let id: AppID
    public let policy: AppPolicy

    public init(number: AppNumber, id: AppID, policy: AppPolicy) {
        self.number = number
        self.id = id
        self.policy = policy
    }
}

/// A key of one app. Its secret is known to its holder alone; the registry has the SHA-256.
public struct APIKey: Sendable {
    public let id: String
    public let app: AppNumber
    public let name: String
    public let roles: Set<Role>
    public let secretSHA256: [UInt8]
    public let createdAt: Timestamp
    public let revokedAt: Timestamp?

    public init(
        id: String, app: AppNumber, name: String, roles: Set<Role>, secretSHA256: [UInt8], createdAt: Timestamp,
        revokedAt: Timestamp?
    ) {
        self.id = id
        self.app = app
        self.name = name
        self.roles = roles
        self.secretSHA256 = secretSHA256
        self.createdAt = createdAt
        self.revokedAt = revokedAt
    }
}

/// All apps and keys at one version of the directory.
public final class DirectorySnapshot: Sendable {
    public let version: Int64
    public let apps: [AppID: App]
    private let keys: [String: APIKey]

    public init(version: Int64, apps: [App], keys: [APIKey]) {
        self.version = version
        self.apps = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })
        self.keys = Dictionary(uniqueKeysWithValues: keys.map { ($0.id, $0) })
    }

    public func key(_ id: String) -> APIKey? { keys[id] }

    public func keys(of app: AppNumber) -> [APIKey] {
        keys.values.filter { $0.app == app }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }
}

/// Where apps and keys are kept.
public protocol AppDirectory: Sendable {
    /// The directory as it is at some moment after the call: a key that was revoked before is revoked in it.
    ///
    /// - Throws: `StoreError`, as all calls here.
    func current() async throws -> DirectorySnapshot

    /// Creates the app or replaces its policy.
    func put(_ id: AppID, policy: AppPolicy) async throws -> (app: App, isNew: Bool)

    func add(_ key: APIKey) async throws

    /// Revokes the app's key from the next request on. Whether there is such a key, revoked before or not.
    func revokeKey(_ id: String, of app: AppNumber) async throws -> Bool
}

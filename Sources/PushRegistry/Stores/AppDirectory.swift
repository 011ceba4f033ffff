/// An application and its policy.
public struct App: Sendable {
    public let number: AppNumber
    public let id: AppID
    public let policy: AppPolicy
    /// Names the stored policy, for conditional changes: another policy has another revision. Empty outside of a
    /// directory.
    public let revision: String

    public init(number: AppNumber, id: AppID, policy: AppPolicy, revision: String = "") {
        self.number = number
        self.id = id
        self.policy = policy
        self.revision = revision
    }
}

/// An application whose stored policy this version of the service cannot use. All others are served.
public struct UnusableApp: Sendable {
    public let number: AppNumber
    public let id: AppID
    public let revision: String
    /// What is wrong with the policy. It shows nothing of it but names of members.
    public let reason: String

    public init(number: AppNumber, id: AppID, revision: String, reason: String) {
        self.number = number
        self.id = id
        self.revision = revision
        self.reason = reason
    }
}

/// Which policy or segment a change expects to replace (RFC 9110, section 13.1.1).
public enum RevisionPrecondition: Hashable, Sendable {
    /// `*`: there is one.
    case exists
    /// The stored one has one of these revisions.
    case revisions([String])

    /// - Parameter revision: the stored one's; nil if there is none.
    public func holds(for revision: String?) -> Bool {
        switch self {
        case .exists: revision != nil
        case .revisions(let known): revision.map(known.contains) ?? false
        }
    }
}

/// Why a policy was not changed.
public enum PolicyRefusal: Error, Hashable, Sendable {
    /// The precondition does not hold. The present revision; nil if there is no such app.
    case outdated(revision: String?)
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
    public let unusable: [AppID: UnusableApp]
    private let keys: [String: APIKey]

    public init(version: Int64, apps: [App], unusable: [UnusableApp] = [], keys: [APIKey]) {
        self.version = version
        self.apps = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })
        self.unusable = Dictionary(uniqueKeysWithValues: unusable.map { ($0.id, $0) })
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

    /// Creates the app or replaces its policy; with a precondition it creates none.
    ///
    /// - Throws: `PolicyRefusal` too.
    func put(
        _ id: AppID, policy: AppPolicy, if precondition: RevisionPrecondition?
    ) async throws -> (app: App, isNew: Bool)

    func add(_ key: APIKey) async throws

    /// Revokes the app's key from the next request on. Whether there is such a key, revoked before or not.
    func revokeKey(_ id: String, of app: AppNumber) async throws -> Bool
}

extension AppDirectory {
    /// Creates the app or replaces its policy.
    public func put(_ id: AppID, policy: AppPolicy) async throws -> (app: App, isNew: Bool) {
        try await put(id, policy: policy, if: nil)
    }
}

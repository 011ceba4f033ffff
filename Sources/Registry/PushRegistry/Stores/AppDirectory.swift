/// Stores apps and keys. A change takes its entry of the audit, which it writes in its transaction.
public protocol AppDirectory: Sendable {
    /// The last snapshot, without a database access. A store can check its version in the same round trip as its own
    /// query.
    var lastRead: DirectorySnapshot { get }

    /// A snapshot from after the call: a key that was revoked before the call is revoked in it.
    ///
    /// - Throws: `StoreError`, as all calls here.
    func current() async throws -> DirectorySnapshot

    /// A snapshot that was current at some moment since `age` ago.
    func current(within age: Duration) async throws -> DirectorySnapshot

    /// Creates the app or replaces its policy. Changes of one app wait for each other.
    ///
    /// - Parameter decide: what to store instead of the present policy; nil: the app does not exist. It may be called
    ///   again, if another caller creates the app meanwhile.
    /// - Throws: also `AppIsBeingDeleted`, and the errors of `decide`, after which nothing is changed.
    func change(
        _ id: AppID, by decide: @Sendable (StoredPolicy?) async throws -> PolicyChange
    ) async throws -> (app: App, change: PolicyChange)

    /// Begins to delete an app, usable or not: its keys at once, and then the rest, in the background.
    ///
    /// - Parameter entry: stays when the app's own entries are deleted with it.
    /// - Returns: the app, and whether the deletion begins only now; nil if there is no such app.
    func delete(_ id: AppID, recording entry: AuditEntry) async throws -> (app: DeletingApp, isNew: Bool)?

    /// The number of installations of an app that is being deleted.
    func installationsLeft(of app: AppNumber) async throws -> Int64

    /// - Throws: also `APIKey.TooMany`.
    func add(_ key: APIKey, recording entry: AuditEntry) async throws

    /// Revokes the app's key from the next request on.
    ///
    /// - Returns: whether the key exists; true also if it was revoked before.
    func revokeKey(_ id: String, of app: AppNumber, recording entry: AuditEntry) async throws -> Bool

    /// The hour of the last use of each of the app's keys, by key id. Keys that were never used are missing.
    func lastUses(ofKeysOf app: AppNumber) async throws -> [String: Timestamp]
}

/// The precondition of a change of a policy or segment (RFC 9110, section 13.1.1).
public enum RevisionPrecondition: Hashable, Sendable {
    /// `*`: the policy or segment exists.
    case exists
    /// It has one of these revisions.
    case revisions([String])
    /// It does not exist.
    case absent

    /// - Parameter revision: the stored revision; nil if the policy or segment does not exist.
    public func holds(for revision: String?) -> Bool {
        switch self {
        case .exists: revision != nil
        case .revisions(let known): revision.map(known.contains) ?? false
        case .absent: revision == nil
        }
    }
}

/// The policy that an app has when it is changed.
public struct StoredPolicy: Sendable {
    public let revision: String
    public let policy: Result<AppPolicy, UnusablePolicy>

    public init(revision: String, policy: Result<AppPolicy, UnusablePolicy>) {
        (self.revision, self.policy) = (revision, policy)
    }
}

/// Why a stored policy cannot be used by this version of the service.
public struct UnusablePolicy: Error, Sendable {
    /// It contains names of members, never values.
    public let reason: String

    public init(reason: String) { self.reason = reason }
}

/// A policy to store, and its entry of the audit; nil if it is the present one, and nothing is stored.
public struct PolicyChange: Sendable {
    public let policy: AppPolicy
    public let entry: AuditEntry?

    public init(_ policy: AppPolicy, _ entry: AuditEntry?) { (self.policy, self.entry) = (policy, entry) }
}

/// The app is being deleted, or was since the call began: to every call but those that report this, it does not exist.
public struct AppIsBeingDeleted: Error, CustomStringConvertible {
    public init() {}

    public var description: String { "The app is being deleted." }
}

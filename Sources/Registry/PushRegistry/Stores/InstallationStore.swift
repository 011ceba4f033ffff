/// Stores installations. A result is durable (R15). After an error, it is safe to repeat the call.
///
/// - Throws: every call throws `StoreError`.
public protocol InstallationStore: Sendable {
    /// - Parameter version: the version of the directory that authenticated the caller, if it was not read for this
    ///   call; else nil.
    /// - Throws: `RegistrationRefusal`; `DirectoryChanged` if the directory has another version, and then
    ///   nothing was written; the faults of the registration's bytes.
    func register(_ sent: SentRegistration, ifDirectoryIs version: Int64?) async throws -> RegistrationOutcome

    /// - Throws: `DeletionRefusal`.
    func delete(_ deletion: Deletion) async throws

    /// - Throws: `TypedTokenRefusal`.
    func change(_ change: TypedTokenChange) async throws -> TypedTokenOutcome

    func installation(_ key: InstallationKey) async throws -> InstallationRecord?

    /// The snapshots of settings and device, newest first; nil if the installation does not exist.
    ///
    /// - Parameter before: the `next` of the previous page.
    func snapshots(of key: InstallationKey, before: Int64?, limit: Int) async throws -> SnapshotPage?
}

/// The version of the directory differs from the one that authorized a call. The call must be authorized again.
public struct DirectoryChanged: Error {
    public init() {}
}

/// An installation with everything that is stored about it.
public struct InstallationRecord: Sendable {
    public let installation: Installation
    public let token: Token?
    /// The typed tokens that have not expired, by kind and name.
    public let tokens: [TypedToken]
    public let snapshot: Snapshot
    /// When the database was read.
    public let readAt: Timestamp

    /// - Parameter tokens: in any order, and expired ones among them.
    public init(
        installation: Installation, token: Token?, tokens: [TypedToken] = [], snapshot: Snapshot, readAt: Timestamp
    ) {
        (self.installation, self.token) = (installation, token)
        self.tokens = tokens.filter { !$0.isExpired(at: readAt) }
            .sorted { ($0.key.kind.rawValue, $0.key.name) < ($1.key.kind.rawValue, $1.key.name) }
        (self.snapshot, self.readAt) = (snapshot, readAt)
    }
}

/// A page of an installation's history of snapshots.
public struct SnapshotPage: Sendable {
    public let snapshots: [(at: Timestamp, snapshot: Snapshot)]
    /// Where the next page begins; nil at the end.
    public let next: Int64?

    public init(snapshots: [(at: Timestamp, snapshot: Snapshot)], next: Int64?) {
        (self.snapshots, self.next) = (snapshots, next)
    }
}

/// Why a store failed. The request is not at fault.
public enum StoreError: Error, Hashable, Sendable {
    /// The database cannot be reached or cancelled the query. The store has already retried where that was safe.
    case unavailable
    /// The queue is full.
    case overloaded
    /// The database reported an error that no rule foresees. The text contains no values.
    case failed(String)
}

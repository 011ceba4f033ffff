/// Where installations are kept. What it returns is durable (R15), and what it throws changed nothing that a repetition
/// would not heal.
public protocol InstallationStore: Sendable {
    /// - Parameter version: of the directory by which the caller was authenticated, where that was not read for this
    ///   call; nil where it was.
    /// - Throws: `RegistrationRefusal`, `StoreError`; `DirectoryChanged`, with nothing written, if the directory has
    ///   another version.
    func register(_ registration: Registration, ifDirectoryIs version: Int64?) async throws -> RegistrationOutcome

    /// - Throws: `RemovalRefusal`, `StoreError`.
    func remove(_ removal: Removal) async throws

    /// - Throws: `StoreError`.
    func installation(_ key: InstallationKey) async throws -> InstallationRecord?

    /// The settings snapshots, newest first; `before` is the `next` of the page before. Nil: no such installation.
    ///
    /// - Throws: `StoreError`.
    func snapshots(of key: InstallationKey, before: Int64?, limit: Int) async throws -> SnapshotPage?
}

extension InstallationStore {
    /// - Throws: `RegistrationRefusal`, `StoreError`.
    public func register(_ registration: Registration) async throws -> RegistrationOutcome {
        try await register(registration, ifDirectoryIs: nil)
    }
}

/// The directory has another version than the one by which a call was judged. The call has to be judged again.
public struct DirectoryChanged: Error {
    public init() {}
}

/// An installation with all that is kept of it.
public struct InstallationRecord: Sendable {
    public let installation: Installation
    public let token: Token?
    public let snapshot: Snapshot
    /// The moment that this was so.
    public let readAt: Timestamp

    public init(installation: Installation, token: Token?, snapshot: Snapshot, readAt: Timestamp) {
        self.installation = installation
        self.token = token
        self.snapshot = snapshot
        self.readAt = readAt
    }
}

/// A page of the history of what an installation sent.
public struct SnapshotPage: Sendable {
    public let snapshots: [(at: Timestamp, snapshot: Snapshot)]
    /// Where the next page begins; nil at the end.
    public let next: Int64?

    public init(snapshots: [(at: Timestamp, snapshot: Snapshot)], next: Int64?) {
        self.snapshots = snapshots
        self.next = next
    }
}

/// Why a store could not answer. None of them says anything of the request.
public enum StoreError: Error, Hashable, Sendable {
    /// The database is away, or gave up; it was tried again where that was safe.
    case unavailable
    /// More waits than the queue holds.
    case overloaded
    /// The database answered with an error that no rule foresees. The text holds no values.
    case failed(String)
}

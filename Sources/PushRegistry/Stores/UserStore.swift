/// Where users, who are known by their installations and sessions alone, are looked up, logged out and erased. What it
/// returns is durable (R15).
public protocol UserStore: Sendable {
    /// The generation after it, nil if the caller may not read the record.
    ///
    /// - Throws: `Logout.Refusal`, `StoreError`.
    func logOut(_ logout: Logout) async throws -> (status: Logout.Status, generation: Int64?)

    /// Whether a user's credential is from before a logout or an erasure of the user, or of a session that has ended
    /// (R7), at some moment after the call.
    ///
    /// - Parameters:
    ///   - key: the installation that the call is about: its own logouts count as well.
    ///   - tombstones: how long the app remembers logouts.
    /// - Throws: `StoreError`.
    func hasEnded(
        _ credential: UserCredential, on key: InstallationKey, remembering tombstones: ISO8601Duration
    ) async throws -> Bool

    /// How many installations lost their owner by it.
    ///
    /// - Throws: `StoreError`.
    func end(_ end: SessionEnd) async throws -> Int

    /// - Throws: `StoreError`.
    func erase(_ erasure: Erasure) async throws -> Erasure.Receipt

    /// The user's installations in the order of their ids, which never change; `after` is the `next` of the page
    /// before.
    ///
    /// - Throws: `StoreError`.
    func installations(
        of userID: UserID, in app: AppNumber, after: InstallID?, limit: Int
    ) async throws -> InstallationPage
}

/// A page of installations.
public struct InstallationPage: Sendable {
    public let installations: [InstallationRecord]
    /// Where the next page begins; nil at the end.
    public let next: InstallID?

    public init(installations: [InstallationRecord], next: InstallID?) {
        self.installations = installations
        self.next = next
    }
}

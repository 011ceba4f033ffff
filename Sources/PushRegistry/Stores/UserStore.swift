/// Where users, who are known by their installations and sessions alone, are looked up, logged out and erased. What it
/// returns is durable (R15).
public protocol UserStore: Sendable {
    /// - Throws: `Logout.Refusal`, `StoreError`.
    func logOut(_ logout: Logout) async throws -> (status: Logout.Status, generation: Int64)

    /// How many installations lost their owner by it.
    ///
    /// - Throws: `StoreError`.
    func end(_ end: SessionEnd) async throws -> Int

    /// - Throws: `StoreError`.
    func erase(_ erasure: Erasure) async throws -> Erasure.Receipt

    /// The user's installations in the order of their ids, which never change; `after` is the `next` of the page before.
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

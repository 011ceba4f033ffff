/// Looks up, logs out and erases users, who exist only through their installations and sessions. A result is durable
/// (R15).
///
/// - Throws: every call throws `StoreError`.
public protocol UserStore: Sendable {
    /// - Returns: the generation after the logout; nil if the caller may not read the record.
    /// - Throws: `Logout.Refusal`.
    func logOut(_ logout: Logout) async throws -> (status: Logout.Status, generation: Int64?)

    /// Whether the credential's session has ended, or the credential was issued before a logout or the erasure of its
    /// user (R7). The database is read after the call.
    ///
    /// - Parameters:
    ///   - key: the installation of the call: logouts of it count as well. Nil for a call of none.
    ///   - tombstones: how long tombstones are kept.
    func hasEnded(
        _ credential: UserCredential, on key: InstallationKey?, in app: AppNumber,
        remembering tombstones: ISO8601Duration
    ) async throws -> Bool

    /// - Returns: the number of installations that lost their owner.
    func end(_ end: SessionEnd) async throws -> Int

    func erase(_ erasure: Erasure) async throws -> Erasure.Receipt

    /// The users' installations, in the order of the users; those of a user in the order of their ids, which never
    /// change.
    ///
    /// - Parameters:
    ///   - users: no user twice.
    ///   - after: of the first user: the `next` of the previous page, whose last installation is of this user.
    func installations(
        of users: [UserID], in app: AppNumber, after: InstallID?, limit: Int
    ) async throws -> InstallationPage
}

/// A page of installations.
public struct InstallationPage: Sendable {
    public let installations: [InstallationRecord]
    /// Where the next page begins; nil at the end.
    public let next: InstallID?

    public init(installations: [InstallationRecord], next: InstallID?) {
        (self.installations, self.next) = (installations, next)
    }
}

/// Stores numbered notifications. A result is durable (R15).
public protocol NotificationStore: Sendable {
    /// Stores a notification for each reachable installation of its addressee. All of them, or none if it throws.
    ///
    /// - Throws: `NotificationRefusal`, `StoreError`.
    func post(_ post: NotificationPost) async throws -> [PostedNotification]

    /// The epoch of an installation and its numbers; nil if the installation does not exist.
    ///
    /// - Parameter version: the version of the directory that authorized the caller, if it was not read for this call.
    /// - Throws: `DirectoryChanged`, `StoreError`.
    func state(of key: InstallationKey, ifDirectoryIs version: Int64?) async throws -> NotificationState?

    /// The notifications that wait in an epoch above a number, in one snapshot; nil if the epoch has ended.
    ///
    /// - Throws: `StoreError`.
    func page(
        of key: InstallationKey, in epoch: Int64, after number: Int64, limit: Int
    ) async throws -> NotificationPage?

    /// Forgets the notifications of an epoch up to a number. Does nothing if the epoch has ended.
    ///
    /// - Throws: `StoreError`.
    func acknowledge(_ number: Int64, of key: InstallationKey, in epoch: Int64) async throws
}

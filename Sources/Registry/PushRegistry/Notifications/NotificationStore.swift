/// Stores numbered notifications. A result is durable (R15).
///
/// - Throws: every call throws `StoreError`.
public protocol NotificationStore: Sendable {
    /// Stores a notification for each reachable installation of its addressee. All of them, or none if it throws.
    ///
    /// - Throws: `NotificationRefusal`.
    func post(_ post: NotificationPost) async throws -> [PostedNotification]

    /// The epoch of an installation and its numbers; nil if the installation does not exist.
    ///
    /// - Parameter version: the version of the directory that authorized the caller, if it was not read for this call.
    /// - Throws: `DirectoryChanged`.
    func state(of key: InstallationKey, ifDirectoryIs version: Int64?) async throws -> NotificationState?

    /// The notifications that wait in an epoch above a number, in one snapshot; nil if the epoch has ended.
    func page(
        of key: InstallationKey, in epoch: Int64, after number: Int64, limit: Int
    ) async throws -> NotificationPage?

    /// Forgets the notifications of an epoch up to a number. Does nothing if the epoch has ended.
    func acknowledge(_ number: Int64, of key: InstallationKey, in epoch: Int64) async throws
}

/// The present epoch of an installation and its numbers, as a fetch reads them (fine print 62, 69, 70, 105, 106).
public struct NotificationState: Hashable, Sendable {
    /// The generation at which the epoch began.
    public let epoch: Int64
    public let owner: Owner?
    public let numbers: NotificationNumbers
    /// When the database was read.
    public let readAt: Timestamp

    public init(epoch: Int64, owner: Owner?, numbers: NotificationNumbers, readAt: Timestamp) {
        (self.epoch, self.owner, self.numbers, self.readAt) = (epoch, owner, numbers, readAt)
    }

    /// From the second in which the session expires, the delivery key returns nothing (fine print 79).
    public var isSessionExpired: Bool { owner?.session?.expiresAt.map { $0 <= readAt } ?? false }
}

/// The numbers of an epoch.
public struct NotificationNumbers: Hashable, Sendable {
    /// The highest number that the epoch has used; 0 without one.
    public let last: Int64
    /// The highest number that the installation has acknowledged.
    public let acknowledged: Int64
    /// The highest number that was dropped because too many waited.
    public let dropped: Int64
    /// The lowest and the highest number that wait; nil if nothing waits.
    public let waiting: ClosedRange<Int64>?

    /// An epoch without a notification.
    public static let none = NotificationNumbers(last: 0, acknowledged: 0, dropped: 0, waiting: nil)

    public init(last: Int64, acknowledged: Int64, dropped: Int64, waiting: ClosedRange<Int64>?) {
        (self.last, self.acknowledged, self.dropped, self.waiting) = (last, acknowledged, dropped, waiting)
    }

    /// The lowest number that can still be fetched.
    public var first: Int64 { waiting?.lowerBound ?? last + 1 }

    /// Whether a page after this number would look complete although notifications are missing: notifications that the
    /// installation never acknowledged were dropped, or the number comes from a database that was lost.
    public func isGap(after number: Int64) -> Bool {
        number > last || max(number, acknowledged) < dropped
    }

    public func hasWaiting(after number: Int64) -> Bool {
        waiting.map { $0.upperBound > number } ?? false
    }
}

/// A notification that waits for an installation.
public struct WaitingNotification: Sendable {
    public let number: Int64
    /// The sender's JSON, byte for byte.
    public let payload: String
    public let postedAt: Timestamp
    public let expiresAt: Timestamp
    public let collapseID: String?

    public init(number: Int64, payload: String, postedAt: Timestamp, expiresAt: Timestamp, collapseID: String?) {
        (self.number, self.payload, self.postedAt, self.expiresAt) = (number, payload, postedAt, expiresAt)
        self.collapseID = collapseID
    }
}

/// A page of waiting notifications, in the order of their numbers, with the epoch's numbers in the same snapshot.
public struct NotificationPage: Sendable {
    public let numbers: NotificationNumbers
    public let notifications: [WaitingNotification]
    /// The `after` of the next page; nil at the end.
    public let next: Int64?

    public init(numbers: NotificationNumbers, notifications: [WaitingNotification], next: Int64?) {
        (self.numbers, self.notifications, self.next) = (numbers, notifications, next)
    }
}

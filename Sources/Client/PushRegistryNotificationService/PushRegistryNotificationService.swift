#if canImport(UserNotifications) && !os(tvOS)
import Foundation
import PushRegistryClient
import UserNotifications
import os

/// The base class of a notification service extension.
///
/// Override `handler`, and also `content(_:after:)` to show missed notifications. The sender must set `mutable-content`
/// in its pushes.
///
///     final class NotificationService: PushRegistryNotificationService {
///         override var handler: NotificationHandler? {
///             let group = "group.com.example.mail"
///             guard let storage = try? PushRegistryClient.FileStorage.appGroup(group) else { return nil }
///             return NotificationHandler(url: url, app: "com.example.mail", storage: storage)
///         }
///     }
open class PushRegistryNotificationService: UNNotificationServiceExtension {
    /// The time limit for handling a push, should the storage hang, too.
    private static let secondsMax = NotificationHandler.secondsMax + 1

    /// Handles pushes. Nil shows each push unchanged.
    open var handler: NotificationHandler? { nil }

    /// The content that the system shows.
    ///
    /// - Parameter outcome: the missed notifications. If the app needs them later, store them here, in the folder that
    ///   app and extension share: the next fetch acknowledges them.
    open func content(
        _ content: UNMutableNotificationContent, after outcome: NotificationHandler.Outcome
    ) -> UNNotificationContent {
        content
    }

    /// Blocks the extension's own queue until the push is handled. So the content and its handler, which are not
    /// Sendable, stay on one thread, and the extension does not end before the receipt was sent, or the handler
    /// has given it up.
    public override func didReceive(
        _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {
        guard let handler, let content = request.content.mutableCopy() as? UNMutableNotificationContent else {
            return contentHandler(request.content)
        }
        let mark = PushMark(userInfo: request.content.userInfo)
        let result = OSAllocatedUnfairLock(initialState: NotificationHandler.Outcome())
        let isHandled = DispatchSemaphore(value: 0)
        let task = Task {
            let outcome = await handler.handle(mark)
            result.withLock { $0 = outcome }
            isHandled.signal()
        }
        if isHandled.wait(timeout: .now() + Self.secondsMax) == .timedOut { task.cancel() }
        contentHandler(self.content(content, after: result.withLock { $0 }))
    }
}
#endif

#if canImport(UserNotifications) && !os(tvOS)
import Foundation
import PushRegistryClient
import UserNotifications
import os

/// The base class of a notification service extension.
///
/// Override `handler`, and `content(_:after:)` if missed notifications are to be shown. The sender sets
/// `mutable-content` in its pushes.
///
///     final class NotificationService: PushRegistryNotificationService {
///         override var handler: NotificationHandler? {
///             guard let storage = try? FileStorage.appGroup("group.com.example.mail") else { return nil }
///             return NotificationHandler(url: url, app: "com.example.mail", storage: storage)
///         }
///     }
open class PushRegistryNotificationService: UNNotificationServiceExtension {
    /// The system ends an extension after 30 seconds.
    private static let secondsMax = 20

    /// Nil: pushes are shown as they came.
    open var handler: NotificationHandler? { nil }

    /// What is shown.
    ///
    /// - Parameter outcome: the missed notifications. Those that the app lists by itself are to be stored here, in the
    ///   folder that app and extension share: the next fetch acknowledges them.
    open func content(
        _ content: UNMutableNotificationContent, after outcome: NotificationHandler.Outcome
    ) -> UNNotificationContent {
        content
    }

    /// Blocks the extension's own queue until the push is handled. So neither the content nor its handler, which are
    /// not Sendable, reach another thread, and the extension does not end before the receipt was sent.
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
        if isHandled.wait(timeout: .now() + .seconds(Self.secondsMax)) == .timedOut { task.cancel() }
        contentHandler(self.content(content, after: result.withLock { $0 }))
    }
}
#endif

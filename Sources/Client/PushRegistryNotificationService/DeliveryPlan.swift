import Foundation
import PushRegistryClient

/// The decision about a numbered push, by the position of the last one.
enum DeliveryPlan: Sendable, Hashable {
    /// Nothing is missing.
    case complete
    /// The notification was shown before: the provider delivered it twice, or a later push fetched it.
    case repeated
    /// Notifications before the push are missing.
    case fetch(after: PushRegistryClient.NotificationPosition)

    init(_ push: PushMark.Number, last: PushRegistryClient.NotificationPosition?) {
        // In a new epoch no notification was shown yet: the owner has changed.
        let seen = last?.epoch == push.epoch ? last?.number ?? 0 : 0
        if push.number <= seen {
            self = .repeated
        } else if push.previous > seen {
            self = .fetch(after: .init(epoch: push.epoch, number: seen))
        } else {
            self = .complete
        }
    }
}

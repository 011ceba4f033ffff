import Foundation
import PushRegistryClient

/// What to do about a numbered push, given the last one that was seen.
enum DeliveryPlan: Sendable, Hashable {
    /// Nothing is missing.
    case complete
    /// It was seen before: the provider delivered it twice, or a later push fetched it.
    case repeated
    /// Notifications below it are missing.
    case fetch(after: PushRegistryClient.NotificationPosition)

    init(_ push: PushMark.Number, last: PushRegistryClient.NotificationPosition?) {
        // In a new epoch nothing has been seen: the owner changed.
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

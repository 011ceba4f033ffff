import Foundation
import PushRegistryClient

/// The members of a push that the sender has copied from the registry's response: `"receipt": "…"` and
/// `"registry": {"number": 56, "previous": 55, "epoch": "AAHk3f0p"}`. Each of the two may be absent.
public struct PushMark: Sendable, Hashable {
    /// The position of the notification in its epoch.
    public struct Number: Sendable, Hashable {
        public var number: Int64
        /// The highest lower number that still waited at the time of the post; 0 without one.
        public var previous: Int64
        public var epoch: String

        public init(number: Int64, previous: Int64, epoch: String) {
            self.number = number
            self.previous = previous
            self.epoch = epoch
        }

        var position: PushRegistryClient.NotificationPosition { .init(epoch: epoch, number: number) }
    }

    public var number: Number?
    public var receipt: String?

    public init(number: Number? = nil, receipt: String? = nil) {
        self.number = number
        self.receipt = receipt
    }

    /// Reads the payload of a push. It never fails: both values are nil for a push without these members.
    public init(userInfo: [AnyHashable: Any]) {
        receipt = userInfo["receipt"] as? String
        let members = userInfo["registry"] as? [String: Any] ?? [:]
        guard let number = Self.integer(members["number"]), let epoch = members["epoch"] as? String, number > 0 else {
            return
        }
        self.number = Number(number: number, previous: Self.integer(members["previous"]) ?? 0, epoch: epoch)
    }

    /// An integer, or its text: some senders write all values as text.
    private static func integer(_ value: Any?) -> Int64? {
        if let text = value as? String { Int64(text) } else { (value as? NSNumber)?.int64Value }
    }
}

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

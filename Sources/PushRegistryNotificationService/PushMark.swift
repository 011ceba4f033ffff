import Foundation
import PushRegistryClient

/// What the registry added to a push: the member `pushRegistry` of its payload,
/// `{"number": 56, "previous": 55, "epoch": "k3f", "receipt": "…"}`. Each member may be absent.
public struct PushMark: Sendable, Hashable {
    /// Where the notification stands in its epoch.
    public struct Number: Sendable, Hashable {
        public var number: Int64
        /// The highest number below it that was alive when it was sent.
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

    /// Reads the payload of a push. It never fails: a push without the member has no mark.
    public init(userInfo: [AnyHashable: Any]) {
        let members = userInfo["pushRegistry"] as? [String: Any] ?? [:]
        receipt = members["receipt"] as? String
        if let number = (members["number"] as? NSNumber)?.int64Value, let epoch = members["epoch"] as? String,
            number > 0
        {
            let previous = (members["previous"] as? NSNumber)?.int64Value ?? 0
            self.number = Number(number: number, previous: previous, epoch: epoch)
        }
    }
}

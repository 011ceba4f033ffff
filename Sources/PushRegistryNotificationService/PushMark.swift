import Foundation
import PushRegistryClient

/// What the sender put into a push for the registry: `"receipt": "…"` and
/// `"registry": {"number": 56, "previous": 55, "epoch": "k3f"}`. Each of the two may be absent.
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

    /// Reads the payload of a push. It never fails: a push without these members has no mark.
    public init(userInfo: [AnyHashable: Any]) {
        receipt = userInfo["receipt"] as? String
        let members = userInfo["registry"] as? [String: Any] ?? [:]
        guard let number = Self.integer(members["number"]), let epoch = members["epoch"] as? String, number > 0 else {
            return
        }
        self.number = Number(number: number, previous: Self.integer(members["previous"]) ?? 0, epoch: epoch)
    }

    /// Some senders write all values as text.
    private static func integer(_ value: Any?) -> Int64? {
        if let text = value as? String { Int64(text) } else { (value as? NSNumber)?.int64Value }
    }
}

import Foundation
import PushRegistryClient

extension InMemoryRegistry {
    /// The values that the sender puts into a push.
    public struct Push: Sendable, Hashable {
        public var installID: String
        public var number: Int64
        public var previous: Int64
        public var epoch: String
        /// How many notifications wait for the installation, this one counted.
        public var badge: Int
    }

    /// Stores a notification for the installations of a user.
    ///
    /// - Returns: the content of the pushes. The test decides whether they arrive.
    @discardableResult
    public func notify(
        user: String, payload: PushRegistryClient.JSON, collapseID: String? = nil, life: TimeInterval = 3 * 86_400
    ) -> [Push] {
        installations.keys.sorted().compactMap { id in
            guard installations[id]?.owner?.user == user, installations[id]?.state == .active else { return nil }
            let at = clock.now
            guard
                let (number, previous) = installations[id]?.inbox.add(
                    payload, collapseID: collapseID, at: at, until: at + life, atMost: notificationsMax)
            else { return nil }
            let inbox = installations[id]?.inbox ?? Inbox()
            return Push(
                installID: id, number: number, previous: previous, epoch: inbox.epoch, badge: inbox.items.count)
        }
    }

    func notifications(_ call: Call, app: String) throws(Refusal) -> Response {
        guard let credential = call.credential else { throw Refusal(401, "missing-credential") }
        if installations[call.installID]?.inbox.key != credential || app != self.app {
            guard !credential.hasPrefix("prd_") else { throw Refusal(401, "invalid-credential") }
            _ = try readable(call, by: caller(call, app: app))
        }
        guard var inbox = installations[call.installID]?.inbox else { throw Refusal(404, "unknown-installation") }
        guard let after = Int64(call.query("after") ?? "0"), let limit = Int(call.query("limit") ?? "100"), after >= 0,
            (1...100).contains(limit)
        else { throw Refusal(400, "invalid-parameter") }
        inbox.items.removeAll { $0.expiresAt <= clock.now }
        let isOtherEpoch = call.query("epoch").map { $0 != inbox.epoch } ?? false
        guard !isOtherEpoch, after <= inbox.last, max(after, inbox.acknowledged) >= inbox.dropped else {
            let first = inbox.items.first?.number ?? inbox.last + 1
            throw Refusal(
                410, "notifications-gone",
                ["epoch": .string(inbox.epoch), "first": .integer(first), "last": .integer(inbox.last)])
        }
        inbox.acknowledged = max(after, inbox.acknowledged)
        inbox.items.removeAll { $0.number <= after }
        installations[call.installID]?.inbox = inbox
        let page = inbox.items.prefix(limit)
        let next = page.count < inbox.items.count ? page.last.map { JSON.integer($0.number) } : nil
        return .json(
            [
                "epoch": .string(inbox.epoch), "notifications": .array(page.map(\.json)), "last": .integer(inbox.last),
                "next": next ?? .null,
            ], fields: ["cache-control": "no-store"])
    }

    // MARK: - Receipts

    func acceptReceipts(_ request: Request) throws(Refusal) -> Response {
        struct Body: Decodable {
            struct Item: Decodable {
                var receipt: String
                var event: PushRegistryClient.ReceiptEvent
            }

            var receipts: [Item]
        }
        guard let body = request.body, let decoded = try? JSONDecoder().decode(Body.self, from: body),
            !decoded.receipts.isEmpty
        else { throw Refusal(400, "invalid-body") }
        guard decoded.receipts.count <= 100 else { throw Refusal(413, "too-many-items") }
        let results = decoded.receipts.map { item -> JSON in
            let implied: Set<PushRegistryClient.ReceiptEvent> =
                item.event == .delivered ? [.delivered] : [.delivered, item.event]
            let before = receipts[item.receipt] ?? []
            receipts[item.receipt] = before.union(implied)
            return before.contains(item.event) ? "duplicate" : "accepted"
        }
        return .json(["results": .array(results)])
    }
}

extension InMemoryRegistry.Inbox {
    /// - Returns: its number, and the highest lower number that still waits.
    mutating func add(
        _ payload: PushRegistryClient.JSON, collapseID: String?, at: Date, until: Date, atMost countMax: Int
    ) -> (number: Int64, previous: Int64) {
        items.removeAll { $0.expiresAt <= at || collapseID != nil && $0.collapseID == collapseID }
        while items.count >= countMax { dropped = items.removeFirst().number }
        let previous = items.last?.number ?? 0
        last += 1
        items.append(Item(number: last, payload: payload, at: at, expiresAt: until, collapseID: collapseID))
        return (last, previous)
    }
}

extension InMemoryRegistry.Inbox.Item {
    fileprivate var json: PushRegistryClient.JSON {
        [
            "number": .integer(number), "payload": payload, "at": .string(at.formatted(.iso8601)),
            "expiresAt": .string(expiresAt.formatted(.iso8601)), "collapseId": .init(collapseID),
        ]
    }
}

import Foundation

extension PushRegistryClient {
    /// An event of a push.
    public enum ReceiptEvent: String, Sendable, Hashable, Codable {
        case delivered, opened, dismissed
    }
}

/// The receipts that are not sent yet: one stored value for each, so that the app and its extension can add and send
/// them without a lock. A receipt that both send counts once.
package struct ReceiptSpool: Sendable {
    /// One item of `POST /v1/receipts`.
    package struct Item: Sendable, Hashable, Codable {
        package var receipt: String
        package var event: PushRegistryClient.ReceiptEvent
        package var action: String?
        package var at: String?
    }

    /// The registry's limit of items in one call.
    static let itemsPerCallMax = 100
    /// The most stored receipts. An app that is offline for a long time drops the oldest ones.
    static let itemsMax = 500
    static let receiptCharactersMax = 80
    static let actionCharactersMax = 64
    private static let prefix = "receipt-"

    private let storage: any PushRegistryClient.Storage

    package init(storage: any PushRegistryClient.Storage) {
        self.storage = storage
    }

    var isEmpty: Bool { get throws { try names().isEmpty } }

    private func names() throws -> [String] { try storage.names(withPrefix: Self.prefix) }

    /// Stores a receipt durably.
    ///
    /// - Throws: `Failure.invalidValue`, or an error of the storage.
    package func add(
        _ receipt: String, _ event: PushRegistryClient.ReceiptEvent, action: String?, at date: Date
    ) throws {
        guard (1...Self.receiptCharactersMax).contains(receipt.utf8.count), receipt.utf8.allSatisfy(\.isBase64URL),
            (action ?? "").utf8.count <= Self.actionCharactersMax
        else { throw PushRegistryClient.Failure.invalidValue }
        let item = Item(receipt: receipt, event: event, action: action, at: date.formatted(.iso8601))
        // Names sort by time.
        let milliseconds = String(Int64(max(0, date.timeIntervalSince1970) * 1_000))
        let time = String(repeating: "0", count: max(0, 15 - milliseconds.count)) + milliseconds
        try storage.write(
            try JSONEncoder().encode(item), to: "\(Self.prefix)\(time)-\(UUID().uuidString)", protection: .always)
        for name in try names().dropLast(Self.itemsMax) { try storage.remove(name) }
    }

    /// Sends a batch of the oldest receipts, and removes them unless the response asks for a later attempt.
    ///
    /// - Returns: the response, or nil without one; and whether receipts are left.
    func send(
        to endpoint: Endpoint, by send: (PushRegistryClient.Request) async -> PushRegistryClient.Response?
    ) async -> (response: PushRegistryClient.Response?, remain: Bool) {
        // The storage cannot be read now: a later call sends them.
        guard let names = try? names().prefix(Self.itemsPerCallMax), !names.isEmpty else {
            return (.init(status: 200), false)
        }
        let items = names.compactMap { name -> Item? in
            guard let data = try? storage.read(name) else { return nil }
            return try? JSONDecoder().decode(Item.self, from: data)
        }
        guard let body = try? JSONEncoder().encode(["receipts": items]) else { return (.init(status: 200), false) }
        let response = items.isEmpty ? .init(status: 200) : await send(endpoint.receipts(body))
        guard let response, !response.asksForRetry else { return (response, true) }
        // The registry has accepted them, or refused them and would refuse them again.
        for name in names { try? storage.remove(name) }
        return (response, (try? !isEmpty) ?? false)
    }
}

extension UInt8 {
    fileprivate var isBase64URL: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

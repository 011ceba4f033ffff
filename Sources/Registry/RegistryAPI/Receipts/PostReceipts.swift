// POST /v1/receipts

import HTTPApplication
import HTTPTypes
import Metrics
import PushRegistry
import Receipts
import StrictJSON

extension RegistryService {
    static let receiptsPattern = "/v1/receipts"
    /// How long the receipts of a removed key still count.
    private static let removedKeyAge = Duration.seconds(1)

    /// Counts the events that apps and service workers report. It needs no credential, because receipts are
    /// authenticated. Any Content-Type is accepted, because a beacon cannot choose it.
    var postReceipts: Route {
        Route(.post, Self.receiptsPattern, bodyBytesMax: ReceiptBody.bytesMax) { request in
            try limits.admitReceipts(from: request.clientAddress)
            let body = try ReceiptBody.parse(try request.body)
            let now = Timestamp.now()
            var directory = try await directory.current(within: Self.removedKeyAge)
            if body.namesUnknownKey(in: directory) { directory = try await self.directory.current() }
            var opened = OpenedReceipts(body.items, directory, receiptKeys, at: now)
            for app in opened.apps {
                let isFirst = try await messages.count(opened.reports(of: app), of: app)
                opened.complete(app, isFirst)
            }
            ReceiptMeters.count(opened.results)
            return .json(JSONWriter(opened.results))
        }
    }
}

/// The result of one item of a call.
enum ReceiptResult: String, CaseIterable, Sendable {
    case accepted, duplicate, expired, invalid
}

/// The metric of receipts, by their results.
private enum ReceiptMeters {
    private static let counters = Dictionary(
        uniqueKeysWithValues: ReceiptResult.allCases.map {
            ($0, Counter(label: "receipts_total", dimensions: [("result", $0.rawValue)]))
        })

    static func count(_ results: [ReceiptResult]) {
        for result in results { counters[result]?.increment() }
    }
}

/// The body `{"receipts": [{receipt, event, action?, at?}]}`. An invalid item does not affect the others, because an
/// extension cannot repair it.
struct ReceiptBody {
    static let bytesMax = 32 * 1_024
    static let itemsMax = 100
    private static let actionScalarsMax = 128

    struct Item {
        let receipt: Receipt
        let event: ReceiptEvent
        let at: Timestamp?
    }

    /// Nil for an invalid item.
    let items: [Item?]

    /// - Throws: `JSONFaults` for a body of another shape; `APIError.tooManyItems`.
    static func parse(_ bytes: [UInt8]) throws -> ReceiptBody {
        let document = try JSONDocument(bytes)
        guard let array = document.root.object()?.array("receipts", .required, elementsMax: .max) else {
            throw JSONFaults(document.faults)
        }
        let values = Array(array)
        guard values.count <= itemsMax else { throw APIError.tooManyItems(max: itemsMax) }
        if values.isEmpty { array.value.refuse(.required, "At least one receipt is required.") }
        // Throws faults of the whole text, such as a duplicate member, and the fault of an empty list.
        try document.check()
        return ReceiptBody(items: values.map(item))
    }

    /// Nil for an invalid item. Its faults are not listed: the item's result is `invalid`.
    private static func item(_ value: JSONValue) -> Item? {
        guard value.kind == .object, let object = value.object(),
            let text = object.text("receipt"), let receipt = Receipt(text),
            let name = object.text("event"), let event = ReceiptEvent(rawValue: name)
        else { return nil }
        if object.value("action") != nil, object.text("action", scalarsMax: actionScalarsMax) == nil { return nil }
        guard object.value("at") != nil else { return Item(receipt: receipt, event: event, at: nil) }
        guard let at = object.text("at").flatMap({ Timestamp($0) }) else { return nil }
        return Item(receipt: receipt, event: event, at: at)
    }

    /// Whether this directory lacks the key of a receipt, so that a newer one may have it.
    func namesUnknownKey(in directory: DirectorySnapshot) -> Bool {
        items.contains { item in
            guard let receipt = item?.receipt else { return false }
            let keys = directory.app(receipt.app)?.signingKeys ?? []
            return !keys.contains { $0.number == receipt.keyNumber }
        }
    }
}

extension JSONObject {
    /// A string member of an item; nil, without a fault, if it is absent or not a string.
    fileprivate func text(_ name: StaticString, scalarsMax: Int = Device.textScalarsMax) -> String? {
        guard let value = value(name), value.kind == .string else { return nil }
        return value.string(scalarsMax: scalarsMax)
    }
}

/// The opened receipts of a call, by app.
private struct OpenedReceipts {
    private(set) var results: [ReceiptResult]
    private var reportsByApp: [AppNumber: [(index: Int, report: ReceiptReport)]] = [:]

    init(_ items: [ReceiptBody.Item?], _ directory: DirectorySnapshot, _ keys: ReceiptKeys, at now: Timestamp) {
        results = items.map { _ in .invalid }
        for (index, item) in items.enumerated() {
            guard let item, let app = directory.app(item.receipt.app), let content = item.receipt.open(app, keys) else {
                continue
            }
            guard content.expiresAt > now else {
                results[index] = .expired
                continue
            }
            // A phone's clock may be wrong: the time is at most now, and at least the message's creation.
            let at = max(min(item.at ?? now, now), content.message.time)
            reportsByApp[app.number, default: []].append(
                (index, ReceiptReport(content, item.event.events, at: at)))
        }
    }

    var apps: [AppNumber] { reportsByApp.keys.sorted() }

    func reports(of app: AppNumber) -> [ReceiptReport] { reportsByApp[app, default: []].map(\.report) }

    mutating func complete(_ app: AppNumber, _ isFirst: [Bool]) {
        for (entry, isFirst) in zip(reportsByApp[app, default: []], isFirst) {
            results[entry.index] = isFirst ? .accepted : .duplicate
        }
    }
}

extension JSONWriter {
    /// `{results: […]}`.
    fileprivate init(_ results: [ReceiptResult]) {
        self.init(capacity: 16 * (results.count + 2)) { writer in
            writer.array("results", results) { $0.string($1.rawValue) }
        }
    }
}

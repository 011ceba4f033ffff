import PushRegistry
import StrictJSON

/// The body of `POST /v1/apps/{app}/feedback`: a JSON array, or one JSON text per line (NDJSON). Invalid items are
/// skipped and their faults are listed; the others are applied.
struct FeedbackBody: Sendable {
    static let itemsMax = 10_000
    static let faultsMax = 100

    struct ItemFault: Sendable {
        /// The item's index, from 0.
        let index: Int
        /// Its pointer begins at the item.
        let fault: JSONFault
    }

    private(set) var items: [FeedbackItem] = []
    /// The number of invalid items.
    private(set) var invalid = 0
    /// The first `faultsMax` faults.
    private(set) var errors: [ItemFault] = []

    private let app: AppNumber
    private let receivedAt: Timestamp

    /// Takes tens of milliseconds for thousands of items, so it must not run on an event loop.
    ///
    /// - Parameters:
    ///   - form: the form by the Content-Type; nil if the first character decides.
    ///   - receivedAt: the time by which timestamps are checked for plausibility.
    /// - Throws: `JSONFaults` for a body of neither form; `APIError.tooManyItems`.
    static func parse(
        _ bytes: [UInt8], as form: ListForm?, app: AppNumber, receivedAt: Timestamp = .now()
    ) throws -> FeedbackBody {
        var body = FeedbackBody(app: app, receivedAt: receivedAt)
        switch form ?? (bytes.first { !isSpace($0) } == UInt8(ascii: "{") ? .lines : .array) {
        case .array: try body.readArray(bytes)
        case .lines: try body.readLines(bytes, isStated: form != nil)
        }
        return body
    }

    private init(app: AppNumber, receivedAt: Timestamp) {
        self.app = app
        self.receivedAt = receivedAt
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(byte)
    }
}

// MARK: - The list

extension FeedbackBody {
    /// Parses all items in one document. If there is a fault, each item is parsed again on its own, to assign the
    /// faults to items.
    private mutating func readArray(_ bytes: [UInt8]) throws {
        let document = try JSONDocument(bytes)
        guard let array = document.root.array(elementsMax: .max) else { throw JSONFaults(document.faults) }
        let values = Array(array)
        guard values.count <= Self.itemsMax else { throw APIError.tooManyItems(max: Self.itemsMax) }
        items = values.compactMap { FeedbackItem($0, of: app, receivedAt: receivedAt) }
        guard !document.faults.isEmpty else { return }
        items = []
        for value in values { readAlone(value.rawBytes) }
    }

    /// - Parameter isStated: whether the Content-Type determined the form.
    private mutating func readLines(_ bytes: [UInt8], isStated: Bool) throws {
        let lines = bytes.split(separator: UInt8(ascii: "\n")).filter { !$0.allSatisfy(Self.isSpace) }
        guard lines.count <= Self.itemsMax else { throw APIError.tooManyItems(max: Self.itemsMax) }
        // Without a Content-Type, the body may be one JSON text on several lines: then the first line is malformed.
        if !isStated, let first = lines.first { _ = try JSONDocument(Array(first)) }
        for line in lines { readAlone(line) }
    }

    private mutating func readAlone(_ bytes: ArraySlice<UInt8>) {
        do throws(JSONFaults) {
            let document = try JSONDocument(Array(bytes))
            let item = FeedbackItem(document.root, of: app, receivedAt: receivedAt)
            try document.check()
            if let item { items.append(item) }
        } catch {
            let index = items.count + invalid
            invalid += 1
            errors += error.faults.prefix(Self.faultsMax - errors.count).map { ItemFault(index: index, fault: $0) }
        }
    }
}

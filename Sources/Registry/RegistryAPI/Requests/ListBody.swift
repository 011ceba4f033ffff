import StrictJSON

/// A list in a body: a JSON array, or one JSON text per line (NDJSON). Invalid items are skipped and their faults are
/// listed; the others are applied.
struct ListBody<Item: Sendable>: Sendable {
    static var itemsMax: Int { 10_000 }
    static var faultsMax: Int { 100 }

    private(set) var items: [Item] = []
    /// The number of invalid items.
    private(set) var invalid = 0
    /// The first `faultsMax` faults.
    private(set) var errors: [ItemFault] = []

    /// Takes tens of milliseconds for thousands of items, so it must not run on an event loop.
    ///
    /// - Parameters:
    ///   - form: the form by the Content-Type; nil if the first character decides.
    ///   - readItem: reads an item, and returns nil after a fault. It is called once for each item.
    /// - Throws: `JSONFaults` for a body of neither form; `APIError.tooManyItems`.
    static func parse(
        _ bytes: [UInt8], as form: ListForm?, by readItem: (JSONValue) -> Item?
    ) throws -> ListBody {
        var body = ListBody()
        switch form ?? (bytes.first { !isSpace($0) } == UInt8(ascii: "{") ? .lines : .array) {
        case .array: try body.readArray(bytes, by: readItem)
        case .lines: try body.readLines(bytes, isStated: form != nil, by: readItem)
        }
        return body
    }

    private init() {}

    private static func isSpace(_ byte: UInt8) -> Bool {
        [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(byte)
    }
}

// MARK: - The list

extension ListBody {
    /// An invalid body costs no more than a valid one, so each item is parsed once, as a document of its own.
    private mutating func readArray(_ bytes: [UInt8], by readItem: (JSONValue) -> Item?) throws {
        guard var elements = try JSONElements(bytes) else {
            let document = try JSONDocument(bytes)
            _ = document.root.array(elementsMax: .max)
            throw JSONFaults(document.faults)
        }
        var count = 0
        while count < Self.itemsMax, let element = try elements.next() {
            count += 1
            read(element, by: readItem)
        }
        guard count == Self.itemsMax, try elements.skip() else { return }
        // A text that is not JSON is reported first.
        while try elements.skip() {}
        throw APIError.tooManyItems(max: Self.itemsMax)
    }

    /// - Parameter isStated: whether the Content-Type determined the form.
    private mutating func readLines(
        _ bytes: [UInt8], isStated: Bool, by readItem: (JSONValue) -> Item?
    ) throws {
        let lines = bytes.split(separator: UInt8(ascii: "\n")).filter { !$0.allSatisfy(Self.isSpace) }
        guard lines.count <= Self.itemsMax else { throw APIError.tooManyItems(max: Self.itemsMax) }
        // Without a Content-Type, the body may be one JSON text on several lines: then the first line is malformed.
        if !isStated, let first = lines.first { _ = try JSONDocument(Array(first)) }
        for line in lines {
            do throws(JSONFaults) {
                read(try JSONDocument(Array(line)), by: readItem)
            } catch {
                add(error.faults)
            }
        }
    }

    private mutating func read(_ document: JSONDocument, by readItem: (JSONValue) -> Item?) {
        let item = readItem(document.root)
        do throws(JSONFaults) {
            try document.check()
            if let item { items.append(item) }
        } catch {
            add(error.faults)
        }
    }

    /// Counts an invalid item.
    private mutating func add(_ faults: [JSONFault]) {
        let index = items.count + invalid
        invalid += 1
        errors += faults.prefix(Self.faultsMax - errors.count).map { ItemFault(index: index, fault: $0) }
    }
}

/// A fault of an item of a list.
struct ItemFault: Sendable {
    /// The item's index, from 0.
    let index: Int
    /// Its pointer begins at the item.
    let fault: JSONFault
}

extension JSONWriter {
    /// `invalid` and, if there are invalid items, `errors: [{index, pointer, detail}]`.
    mutating func invalidItems<Item>(of body: ListBody<Item>) {
        member("invalid", body.invalid)
        guard body.invalid > 0 else { return }
        objects("errors", body.errors) { writer, error in
            writer.member("index", error.index)
            writer.member("pointer", error.fault.pointer)
            writer.member("detail", error.fault.detail)
        }
    }
}

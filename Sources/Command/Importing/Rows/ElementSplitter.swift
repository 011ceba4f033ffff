import PushRegistry

/// Cuts a JSON text of any length into the objects that stand for rows: the elements of an array, the elements of an
/// array in an outer object (a page of a list), or objects one after the other.
struct ElementSplitter {
    private enum Place {
        case outside
        /// In an array of rows or of pages.
        case list
        /// In the array of a page, which may be an element of an array itself.
        case page(isElement: Bool)
        /// In a page, behind its array: so many containers are open.
        case tail(depth: Int, isElement: Bool)
    }

    /// What an object at the beginning of some bytes is.
    private enum Object {
        case whole(byteCount: Int)
        /// An outer object; the offset is behind the `[` of its array.
        case outer(offset: Int)
        case incomplete
    }

    private let wrappers: Set<String>
    private let allowsEmptyPages: Bool
    private var place = Place.outside

    /// - Parameters:
    ///   - wrappers: the members of outer objects.
    ///   - allowsEmptyPages: false if an empty array of this name may be a member of a row.
    init(wrappers: Set<String>, allowsEmptyPages: Bool = true) {
        (self.wrappers, self.allowsEmptyPages) = (wrappers, allowsEmptyPages)
    }

    /// Whether the text so far is whole.
    var isComplete: Bool {
        if case .outside = place { true } else { false }
    }

    /// Whether an object begins here that is a page of a list.
    func isOuter(_ bytes: ArraySlice<UInt8>) -> Bool {
        if case .outer = scan(bytes) { true } else { false }
    }

    /// Whether the bytes are the beginning of an object without its end.
    func isIncomplete(_ bytes: ArraySlice<UInt8>) -> Bool {
        if case .incomplete = scan(bytes) { bytes.first == UInt8(ascii: "{") } else { false }
    }

    /// For `RecordCutter.next`.
    mutating func cut(
        _ bytes: ArraySlice<UInt8>, isEnd: Bool
    ) throws(ImportFaults) -> RecordCutter.Cut<ArraySlice<UInt8>>? {
        if case .tail(let depth, let isElement) = place {
            return skipTail(bytes, depth: depth, isElement: isElement, isEnd: isEnd)
        }
        let gap = bytes.prefix { $0.isJSONSpace || $0 == UInt8(ascii: ",") }
        guard gap.isEmpty else { return skipped(gap) }
        switch bytes.first {
        case nil: return isEnd ? skipped(bytes) : nil
        case UInt8(ascii: "["):
            guard case .outside = place else { return try otherElement(bytes, isEnd: isEnd) }
            place = .list
            return skipped(bytes.prefix(1))
        case UInt8(ascii: "]"):
            switch place {
            case .list: place = .outside
            case .page(let isElement): place = .tail(depth: 1, isElement: isElement)
            case .outside, .tail: throw Self.malformed
            }
            return skipped(bytes.prefix(1))
        case UInt8(ascii: "{"): return try object(bytes, isEnd: isEnd)
        default: return try otherElement(bytes, isEnd: isEnd)
        }
    }

    /// An element of an array that is no object. It is a record, so that its reader rejects it alone.
    private func otherElement(
        _ bytes: ArraySlice<UInt8>, isEnd: Bool
    ) throws(ImportFaults) -> RecordCutter.Cut<ArraySlice<UInt8>>? {
        if case .outside = place { throw Self.malformed }
        let end: Int?
        switch bytes.first {
        case UInt8(ascii: "\""): end = Self.endOfString(bytes)
        case UInt8(ascii: "["):
            guard case .whole(let count) = scan(bytes, looksForPage: false) else { return isEnd ? skipped(bytes) : nil }
            end = bytes.startIndex + count
        default:
            end = bytes.firstIndex { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: "\n") }
        }
        guard let end, end > bytes.startIndex else { return isEnd ? skipped(bytes) : nil }
        let element = bytes[..<end]
        return RecordCutter.Cut(content: element, byteCount: element.count, lineCount: element.lineCount)
    }

    private mutating func object(
        _ bytes: ArraySlice<UInt8>, isEnd: Bool
    ) throws(ImportFaults) -> RecordCutter.Cut<ArraySlice<UInt8>>? {
        switch scan(bytes, looksForPage: !isInPage) {
        case .whole(let count):
            let object = bytes.prefix(count)
            return RecordCutter.Cut(content: object, byteCount: count, lineCount: object.lineCount)
        case .outer(let offset):
            place = .page(isElement: isInList)
            return skipped(bytes.prefix(offset))
        case .incomplete:
            guard isEnd else { return nil }
            place = .tail(depth: 1, isElement: isInList)
            return skipped(bytes)
        }
    }

    private var isInList: Bool {
        if case .list = place { true } else { false }
    }

    private var isInPage: Bool {
        if case .page = place { true } else { false }
    }

    private mutating func skipTail(
        _ bytes: ArraySlice<UInt8>, depth: Int, isElement: Bool, isEnd: Bool
    ) -> RecordCutter.Cut<ArraySlice<UInt8>>? {
        var (depth, at) = (depth, bytes.startIndex)
        while at < bytes.endIndex {
            switch bytes[at] {
            case UInt8(ascii: "\""):
                guard let end = Self.endOfString(bytes[at...]) else {
                    place = .tail(depth: depth, isElement: isElement)
                    return at == bytes.startIndex && !isEnd ? nil : skipped(isEnd ? bytes : bytes[..<at])
                }
                at = end
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            at += 1
            if depth == 0 {
                place = isElement ? .list : .outside
                return skipped(bytes[..<at])
            }
        }
        place = .tail(depth: depth, isElement: isElement)
        return bytes.isEmpty && !isEnd ? nil : skipped(bytes)
    }

    /// Looks for the end of the object, and for a wrapper among its members.
    private func scan(_ bytes: ArraySlice<UInt8>, looksForPage: Bool = true) -> Object {
        var (depth, at) = (0, bytes.startIndex)
        while at < bytes.endIndex {
            switch bytes[at] {
            case UInt8(ascii: "\""):
                guard let end = Self.endOfString(bytes[at...]) else { return .incomplete }
                if depth == 1, looksForPage, let offset = list(bytes[(at + 1)..<(end - 1)], bytes[end...]) {
                    return .outer(offset: offset - bytes.startIndex)
                }
                at = end
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return .whole(byteCount: at + 1 - bytes.startIndex) }
            default: break
            }
            at += 1
        }
        return .incomplete
    }

    /// Whether `name` is a wrapper's name, and `rest` the colon and an array of objects, or an empty one. Returns
    /// the index behind `[`.
    private func list(_ name: ArraySlice<UInt8>, _ rest: ArraySlice<UInt8>) -> Int? {
        guard wrappers.contains(where: { name.elementsEqual($0.utf8) }) else { return nil }
        var rest = rest.drop { $0.isJSONSpace }
        guard rest.popFirst() == UInt8(ascii: ":") else { return nil }
        rest = rest.drop { $0.isJSONSpace }
        guard rest.popFirst() == UInt8(ascii: "[") else { return nil }
        let first = rest.first { !$0.isJSONSpace }
        let isPage = first == UInt8(ascii: "{") || first == UInt8(ascii: "]") && allowsEmptyPages
        return isPage ? rest.startIndex : nil
    }

    /// The index behind the closing quote.
    private static func endOfString(_ bytes: ArraySlice<UInt8>) -> Int? {
        var at = bytes.startIndex + 1
        while at < bytes.endIndex {
            switch bytes[at] {
            case UInt8(ascii: "\""): return at + 1
            case UInt8(ascii: "\\"): at += 2
            default: at += 1
            }
        }
        return nil
    }

    private func skipped(_ bytes: ArraySlice<UInt8>) -> RecordCutter.Cut<ArraySlice<UInt8>> {
        RecordCutter.Cut(content: nil, byteCount: bytes.count, lineCount: bytes.lineCount)
    }

    private static let malformed = ImportFaults([
        ImportFault(code: "malformed-json", "An object, or an array of objects, is expected.")
    ])
}

extension UInt8 {
    fileprivate var isJSONSpace: Bool {
        self == UInt8(ascii: " ") || self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r")
            || self == UInt8(ascii: "\t")
    }
}

extension ArraySlice<UInt8> {
    var lineCount: Int { reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) } }
}

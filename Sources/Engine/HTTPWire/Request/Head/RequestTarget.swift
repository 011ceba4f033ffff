import Basics

/// The forms of a request target that an origin server may receive (RFC 9112 section 3.2).
public enum TargetForm: Sendable, Hashable {
    /// `/path?query`
    case origin
    /// `http://host/path?query`, which overrides Host.
    case absolute
    /// `*`: the server as a whole; OPTIONS only.
    case asterisk
}

/// The positions of a request target's parts. The range of a missing part is empty or nil.
struct RequestTarget: Sendable {
    private(set) var form = TargetForm.origin
    private(set) var authority: Range<Int>?
    private(set) var path = 0..<0
    private(set) var query: Range<Int>?

    init() {}

    /// Splits the target at `range` of `head`. Its bytes must be characters of a URI.
    init(_ head: Span<UInt8>, _ range: Range<Int>, method: Span<UInt8>) throws(WireError) {
        if method.isMethod("CONNECT") { throw WireError(.connectNotSupported) }
        switch head[range.lowerBound] {
        case UInt8(ascii: "/"):
            try splitPath(head, range)
        case UInt8(ascii: "*") where range.count == 1:
            try setAsterisk(method)
        default:
            try splitAbsolute(head, range, method: method)
        }
    }

    private mutating func setAsterisk(_ method: Span<UInt8>) throws(WireError) {
        guard method.isMethod("OPTIONS") else { throw WireError(.invalidTarget) }
        form = .asterisk
    }

    /// RFC 9112 section 3.2.2. An OPTIONS without path and query means the server as a whole (section 3.2.4).
    private mutating func splitAbsolute(
        _ head: Span<UInt8>, _ range: Range<Int>, method: Span<UInt8>
    ) throws(WireError) {
        guard let start = Self.schemeEnd(head.extracting(range)).map({ range.lowerBound + $0 }) else {
            throw WireError(.invalidTarget)
        }
        var end = start
        while end < range.upperBound, !head[end].endsAuthority { end += 1 }
        guard (try? HostSyntax.validate(head.extracting(start..<end))) != nil else { throw WireError(.invalidTarget) }
        form = end == range.upperBound && method.isMethod("OPTIONS") ? .asterisk : .absolute
        authority = start..<end
        try splitPath(head, end..<range.upperBound)
    }

    private mutating func splitPath(_ head: Span<UInt8>, _ range: Range<Int>) throws(WireError) {
        var pathEnd: Int?
        for index in range {
            switch head[index] {
            case UInt8(ascii: "?"): pathEnd = pathEnd ?? index
            case UInt8(ascii: "%") where !head.isPercentEncoding(at: index, to: range.upperBound),
                // Of the characters of a URI only the brackets of an IPv6 address are invalid in a path or query.
                UInt8(ascii: "["), UInt8(ascii: "]"):
                throw WireError(.invalidTarget)
            default: break
            }
        }
        path = range.lowerBound..<(pathEnd ?? range.upperBound)
        query = pathEnd.map { $0 + 1..<range.upperBound }
    }

    /// The length of `http://` or `https://` in any case; nil for other schemes.
    private static func schemeEnd(_ target: Span<UInt8>) -> Int? {
        for scheme in ["http", "https"] {
            let end = scheme.utf8.count
            guard target.count > end + 3, target.extracting(0..<end).isToken(scheme) else { continue }
            guard target[end] == UInt8(ascii: ":"), target[end + 1] == UInt8(ascii: "/"),
                target[end + 2] == UInt8(ascii: "/")
            else { continue }
            return end + 3
        }
        return nil
    }
}

extension UInt8 {
    fileprivate var endsAuthority: Bool { self == UInt8(ascii: "/") || self == UInt8(ascii: "?") }
}

extension Span<UInt8> {
    /// Methods are case-sensitive (RFC 9110 section 9.1).
    func isMethod(_ name: String) -> Bool {
        let expected = name.utf8.span
        guard count == expected.count else { return false }
        for index in 0..<count where self[index] != expected[index] {
            return false
        }
        return true
    }

    /// Whether the `%` at `index` is followed by two hexadecimal digits before `end` (RFC 3986 section 2.1).
    func isPercentEncoding(at index: Int, to end: Int) -> Bool {
        index + 2 < end && self[index + 1].hexDigitValue != nil && self[index + 2].hexDigitValue != nil
    }
}

/// One `name=value` of a query, decoded.
public struct QueryItem: Sendable, Hashable {
    /// Empty for an item like `=value`.
    public var name: String
    /// Empty for an item without `=`.
    public var value: String

    /// Both texts are already decoded; nothing is checked.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

extension RequestHead {
    /// The form of the target (RFC 9112 section 3.2). `OPTIONS http://host` has the form `asterisk` (section 3.2.4).
    public var targetForm: TargetForm { storage.target.form }

    /// The path as sent, percent-encoded, without the query. Empty for `*`; `/` for an absolute target without a path.
    ///
    /// Split it before decoding, so that an encoded slash does not separate segments (RFC 3986 section 2.4). Dot
    /// segments are not resolved: an identifier may be `..`.
    public var path: ArraySlice<UInt8> {
        if storage.target.path.isEmpty, targetForm == .absolute { return Self.rootPath }
        return slice(storage.target.path)
    }

    /// The query as sent, without the `?`.
    public var query: ArraySlice<UInt8>? { storage.target.query.map(slice) }

    /// The host and port of the request: from a target in absolute form, else from the Host field (RFC 9112 section
    /// 3.3). Nil in HTTP/1.0 only.
    public var authority: String? {
        (storage.target.authority ?? storage.host).map { String(decoding: slice($0), as: UTF8.self) }
    }

    /// The decoded items of the query, in order, read as `application/x-www-form-urlencoded` (`+` is a space), which
    /// browsers and HTTP libraries send. An item without `=` has an empty value; empty items are skipped.
    ///
    /// - Throws: `invalidPercentEncoding` (400) if an item contains NUL or is not UTF-8.
    public func queryItems() throws(WireError) -> [QueryItem] {
        var items: [QueryItem] = []
        for item in (query ?? []).split(separator: UInt8(ascii: "&")) {
            let nameEnd = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
            let name = try PercentEncoding.decode(item[..<nameEnd], plusIsSpace: true)
            let value = try PercentEncoding.decode(item[nameEnd...].dropFirst(), plusIsSpace: true)
            items.append(QueryItem(name: name, value: value))
        }
        return items
    }

    private static let rootPath: ArraySlice<UInt8> = [UInt8(ascii: "/")]
}

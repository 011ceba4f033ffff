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

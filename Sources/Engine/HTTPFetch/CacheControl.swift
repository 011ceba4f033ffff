/// The freshness in the field `Cache-Control` of a response (RFC 9111, section 5.2).
struct CacheControl: Hashable, Sendable {
    /// Nil if the field does not specify it; zero if a copy is forbidden or must be validated at each use.
    let maxAge: Duration?

    /// - Parameter value: the value of the field; those of several fields are joined by commas.
    init(_ value: String) {
        var (seconds, isForbidden) = (Int64?.none, false)
        for directive in value.split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map { $0.trimmed.lowercased() }
            switch parts.first {
            case "no-store", "no-cache": isForbidden = true
            case "max-age":
                let digits = parts.count > 1 ? parts[1].filter { $0 != "\"" } : ""
                // The first one counts. A number that does not fit into the type stands for the maximum.
                guard seconds == nil, !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { break }
                seconds = Int64(digits) ?? Int64(Int32.max)
            default: break
            }
        }
        maxAge = isForbidden ? .zero : seconds.map { .seconds(min($0, Int64(Int32.max))) }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        let end = lastIndex { !$0.isWhitespace }.map { index(after: $0) } ?? startIndex
        return self[..<end].drop { $0.isWhitespace }
    }
}

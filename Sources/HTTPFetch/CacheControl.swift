/// The field `Cache-Control` of a response (RFC 9111, section 5.2), as far as it says how long a copy is fresh.
struct CacheControl: Hashable, Sendable {
    /// Nil if the field says nothing; zero if it forbids a copy, or wants it validated each time.
    let maxAge: Duration?

    /// - Parameter value: a field's value; of several fields, all with commas.
    init(_ value: String) {
        var (seconds, isForbidden) = (Int64?.none, false)
        for directive in value.split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map { $0.trimmed.lowercased() }
            switch parts.first {
            case "no-store", "no-cache": isForbidden = true
            case "max-age":
                let digits = parts.count > 1 ? parts[1].filter { $0 != "\"" } : ""
                // The first one counts. What does not fit into the type is as long as can be.
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

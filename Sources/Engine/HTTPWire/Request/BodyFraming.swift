/// How the end of a request's body is determined (RFC 9112 section 6.3).
public enum BodyFraming: Sendable, Hashable {
    /// There is no body.
    case none
    /// Content-Length bytes follow.
    case length(Int)
    /// Chunks follow, up to the last one and its trailer section.
    case chunked
}

extension BodyFraming {
    /// `Content-Length = 1*DIGIT` (RFC 9110 section 8.6), a single number. A list of equal numbers is refused, though
    /// the RFC allows a server to accept it.
    static func contentLength(_ value: Span<UInt8>) throws(WireError) -> Int {
        guard !value.isEmpty else { throw WireError(.invalidContentLength) }
        var length = 0
        for index in 0..<value.count {
            guard value[index].isDigit else { throw WireError(.invalidContentLength) }
            let (tenfold, isTooLong) = length.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = tenfold.addingReportingOverflow(Int(value[index] &- UInt8(ascii: "0")))
            guard !isTooLong, !isTooLarge else { throw WireError(.invalidContentLength) }
            length = sum
        }
        return length
    }
}

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

/// The codings of the Transfer-Encoding lines so far. The message is valid only if `chunked` occurs once, as the last.
struct TransferCodings {
    private(set) var isChunked = false

    /// Adds the codings of one line (RFC 9112 section 6.1). Empty list elements are refused, although RFC 9110 section
    /// 5.6.1 has recipients skip them: clients send them here only to confuse parsers.
    mutating func add(_ value: Span<UInt8>) throws(WireError) {
        var position = 0
        while let element = value.nextListElement(&position) {
            let coding = value.extracting(element)
            guard !isChunked else { throw WireError(.invalidTransferEncoding) }
            if coding.isToken("chunked") {
                isChunked = true
            } else {
                throw WireError(coding.startsWithToken ? .unsupportedTransferCoding : .invalidTransferEncoding)
            }
        }
    }
}

extension Span<UInt8> {
    /// Whether it starts like a transfer coding, `token *( OWS ";" parameter )`.
    fileprivate var startsWithToken: Bool {
        let nameEnd = end(of: .token, from: 0, to: count)
        let next = endOfSpace(from: nameEnd, to: count)
        return nameEnd > 0 && (next == count || self[next] == UInt8(ascii: ";"))
    }
}

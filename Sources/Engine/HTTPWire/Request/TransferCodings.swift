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

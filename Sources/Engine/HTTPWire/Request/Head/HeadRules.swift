/// The meaning of one head's fields for the message and the connection, and the rules between them.
struct HeadRules {
    /// Positions of the Host field's value.
    private(set) var host: Range<Int>?
    private var contentLength: Int?
    private var codings: TransferCodings?
    private var asksForClose = false
    private var asksForKeepAlive = false
    private var asksForContinue = false
    private var seen: UInt16 = 0

    /// Adds one field line; call it in the order of the lines.
    mutating func add(_ line: FieldLine, of head: Span<UInt8>) throws(WireError) {
        if line.field == .other { return }
        try refuseSecond(line.field)
        let value = head.extracting(line.value)
        switch line.field {
        case .host:
            try HostSyntax.validate(value)
            host = line.value
        case .contentLength: contentLength = try BodyFraming.contentLength(value)
        case .transferEncoding: try addCodings(value)
        case .connection: addConnectionOptions(value)
        case .expect: try addExpectations(value)
        case .other, .authorization, .contentType, .origin: break
        }
    }

    /// RFC 9110 section 5.3: a sender must not repeat a field whose value is not a list.
    private mutating func refuseSecond(_ field: RecognizedField) throws(WireError) {
        let bit = UInt16(1) << UInt16(field.rawValue)
        guard seen & bit == 0 || !field.isSingleton else { throw WireError(.duplicateField) }
        seen |= bit
    }

    private mutating func addCodings(_ value: Span<UInt8>) throws(WireError) {
        var codings = self.codings ?? TransferCodings()
        try codings.add(value)
        self.codings = codings
    }

    /// RFC 9110 section 7.6.1. Other options are ignored, because this server never upgrades.
    private mutating func addConnectionOptions(_ value: Span<UInt8>) {
        var position = 0
        while let element = value.nextListElement(&position) {
            let option = value.extracting(element)
            if option.isToken("close") { asksForClose = true }
            if option.isToken("keep-alive") { asksForKeepAlive = true }
        }
    }

    /// RFC 9110 section 10.1.1.
    private mutating func addExpectations(_ value: Span<UInt8>) throws(WireError) {
        var position = 0
        while let element = value.nextListElement(&position) {
            if element.isEmpty { continue }
            let expectation = value.extracting(element)
            guard expectation.isToken("100-continue") else { throw WireError(.unsupportedExpectation) }
            asksForContinue = true
        }
    }
}

extension HeadRules {
    /// RFC 9112 section 3.2: an HTTP/1.1 request must have Host, whatever the form of its target.
    func checkHost(_ version: HTTPVersion) throws(WireError) {
        guard host != nil || version == .http10 else { throw WireError(.missingHost) }
    }

    /// RFC 9112 section 6.3. A transfer coding in HTTP/1.0, or together with a Content-Length, may be a smuggling
    /// attempt (section 6.1) and is refused.
    func framing(_ version: HTTPVersion) throws(WireError) -> BodyFraming {
        guard let codings else { return contentLength.map(BodyFraming.length) ?? .none }
        guard version == .http11, codings.isChunked else { throw WireError(.invalidTransferEncoding) }
        guard contentLength == nil else { throw WireError(.ambiguousBodyLength) }
        return .chunked
    }

    /// RFC 9112 section 9.3: an HTTP/1.1 connection persists by default, an HTTP/1.0 connection only on request.
    func isKeepAlive(_ version: HTTPVersion) -> Bool {
        !asksForClose && (version == .http11 || asksForKeepAlive)
    }

    /// RFC 9110 section 10.1.1: ignored in HTTP/1.0 and for a request without a body.
    func expectsContinue(_ version: HTTPVersion, _ framing: BodyFraming) -> Bool {
        asksForContinue && version == .http11 && framing != .none && framing != .length(0)
    }
}

/// `uri-host [ ":" port ]`, the value of Host and the authority of an absolute target (RFC 9110 section 7.2).
///
/// An empty host is refused, because RFC 9110 section 4.2.1 calls an `http` URI without a host invalid. So is user
/// information (section 4.2.4).
enum HostSyntax {
    static func validate(_ bytes: Span<UInt8>) throws(WireError) {
        let hostEnd = bytes.isEmpty || bytes[0] != UInt8(ascii: "[") ? nameEnd(bytes) : literalEnd(bytes)
        guard let hostEnd, hostEnd > 0 else { throw WireError(.invalidHost) }
        guard hostEnd < bytes.count else { return }
        guard bytes[hostEnd] == UInt8(ascii: ":"), isPort(bytes.extracting((hostEnd + 1)...)) else {
            throw WireError(.invalidHost)
        }
    }

    private static func nameEnd(_ bytes: Span<UInt8>) -> Int? {
        let end = bytes.end(of: .registeredName, from: 0, to: bytes.count)
        for index in 0..<end where bytes[index] == UInt8(ascii: "%") {
            guard bytes.isPercentEncoding(at: index, to: end) else { return nil }
        }
        return end
    }

    /// `"[" ( IPv6address / IPvFuture ) "]"`. Only the characters are checked: the address is compared, never connected
    /// to.
    private static func literalEnd(_ bytes: Span<UInt8>) -> Int? {
        let end = bytes.end(of: .addressLiteral, from: 1, to: bytes.count)
        guard end > 1, end < bytes.count, bytes[end] == UInt8(ascii: "]") else { return nil }
        return end + 1
    }

    /// `port = *DIGIT`, at most 65535.
    private static func isPort(_ bytes: Span<UInt8>) -> Bool {
        var port = 0
        for index in 0..<bytes.count {
            guard bytes[index].isDigit else { return false }
            port = port * 10 + Int(bytes[index] - UInt8(ascii: "0"))
            guard port <= 65535 else { return false }
        }
        return true
    }
}

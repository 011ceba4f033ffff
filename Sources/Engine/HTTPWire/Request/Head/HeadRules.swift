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

import HTTPTypes

/// Parses the head of a request: request line, header section, and the rules between them.
struct HeadScanner {
    /// A head may hold so many bytes of its request's body.
    static let sharedBytesMax = 2_048

    private var requestLine = RequestLineScanner()
    private var fieldSection: FieldSectionScanner?
    private var fields: [FieldLine] = []
    private var target = RequestTarget()
    private var rules = HeadRules()

    /// Whether the first `count` bytes are empty lines at most, so that no request has begun.
    func isBlank(_ count: Int) -> Bool { requestLine.isBlank && requestLine.position == count }

    /// Continues; `bytes` begin at the start of the request.
    ///
    /// - Returns: the head's length once it is complete, else nil.
    mutating func scan(_ bytes: Span<UInt8>, limits: WireLimits) throws(WireError) -> Int? {
        guard var section = try enterFields(bytes, limits) else { return nil }
        defer { fieldSection = section }
        let sectionLimits = FieldSectionScanner.Limits(
            bytesMax: limits.headerBytesMax, linesMax: limits.fieldsMax, tooLarge: .headerTooLarge,
            tooMany: .tooManyFields)
        while true {
            switch try section.next(bytes, sectionLimits) {
            case .line(let line): try add(line, bytes)
            case .end: return section.position
            case .needsMore: return nil
            }
        }
    }

    private mutating func enterFields(
        _ bytes: Span<UInt8>, _ limits: WireLimits
    ) throws(WireError) -> FieldSectionScanner? {
        if let fieldSection { return fieldSection }
        guard try requestLine.scan(bytes, limits: limits) else { return nil }
        target = try RequestTarget(bytes, requestLine.target, method: bytes.extracting(requestLine.method))
        fields.reserveCapacity(12)
        return FieldSectionScanner(at: requestLine.position)
    }

    private mutating func add(_ line: FieldLine, _ bytes: Span<UInt8>) throws(WireError) {
        var line = line
        line.field = RecognizedField(name: bytes.extracting(line.name))
        try rules.add(line, of: bytes)
        fields.append(line)
    }

    /// Returns the complete head, which is the part `range` of `bytes`, and resets the scanner for the next one.
    ///
    /// Shares `bytes` if the head fills half of them, or if they are few and hold the whole request. Else it copies the
    /// head, so that a small one does not hold a large buffer.
    mutating func makeHead(_ bytes: [UInt8], _ range: Range<Int>) throws(WireError) -> RequestHead {
        let start = range.lowerBound
        let version = requestLine.version
        try rules.checkHost(version)
        let framing = try rules.framing(version)
        let token = requestLine.method
        let method = try HTTPRequest.Method(parsing: bytes[(start + token.lowerBound)..<(start + token.upperBound)])
        let isShared = 2 * range.count >= bytes.count || Self.isWhole(bytes, from: range.upperBound, framing)
        let head = RequestHead.Storage(
            method: method, version: version, target: target, bodyFraming: framing, rules: rules, lines: fields,
            bytes: isShared ? bytes : Array(bytes[range]), start: isShared ? start : 0)
        self = HeadScanner()
        return RequestHead(head)
    }

    /// Whether few bytes hold all of a request, of which the body begins at `position`.
    private static func isWhole(_ bytes: [UInt8], from position: Int, _ framing: BodyFraming) -> Bool {
        guard bytes.count <= sharedBytesMax, case .length(let length) = framing else { return false }
        return length <= bytes.count - position
    }
}

extension HTTPRequest.Method {
    /// Parses a method; the common ones without allocating a string.
    fileprivate init(parsing bytes: ArraySlice<UInt8>) throws(WireError) {
        let token = bytes.span
        switch token.count {
        case 3 where token.isMethod("GET"): self = .get
        case 3 where token.isMethod("PUT"): self = .put
        case 4 where token.isMethod("POST"): self = .post
        case 4 where token.isMethod("HEAD"): self = .head
        case 5 where token.isMethod("PATCH"): self = .patch
        case 6 where token.isMethod("DELETE"): self = .delete
        case 7 where token.isMethod("OPTIONS"): self = .options
        default:
            guard let method = Self(String(decoding: bytes, as: UTF8.self)) else {
                throw WireError(.malformedRequestLine)
            }
            self = method
        }
    }
}

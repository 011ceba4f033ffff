/// What a connection's bytes mean, one step at a time.
public enum RequestEvent: Sendable {
    /// A request begins.
    case head(RequestHead)
    /// A piece of its body, decoded from its chunks, never empty; where it is cut means nothing.
    case body(ArraySlice<UInt8>)
    /// The request is complete.
    case end
}

/// The requests of one connection: bytes in, events out, no I/O (RFC 9112).
///
/// The connection's driver appends what it received and takes events until there are none. Bytes behind a request stay
/// until it asks for the next one, so a driver that answers before it asks again serves pipelined requests in order.
///
/// Whatever is wrong is final: the error is thrown again and again, and nothing behind it is ever taken for a request.
/// A request that asked to close the connection is the last one too.
public struct RequestParser: ~Copyable, Sendable {
    /// What the parser waits for: each has a deadline of its own.
    public enum Phase: Sendable, Hashable {
        /// Between requests, with nothing of the next one but empty lines.
        case idle
        case head
        case body
        /// No further request will come.
        case closed
        case failed
    }

    private enum State {
        case head
        case lengthBody(left: Int)
        case chunkedBody
        case end
        case closed
        case failed(WireError)
    }

    /// The largest body of the present request, judged when the body is read on. Set it on `.head`, before the next
    /// event; it falls back to ``WireLimits/bodyBytesDefault`` with each request.
    public var bodyBytesMax: Int

    private let limits: WireLimits
    private var state = State.head
    private var headScanner = HeadScanner()
    private var chunkScanner = ChunkedBodyScanner()
    private var isKeepAlive = true

    /// What was received; everything before `consumed` is spent. Shared with the heads and bodies handed out, and
    /// given up when spent, so that an idle connection holds no buffer.
    private var buffer: [UInt8] = []
    private var consumed = 0

    public init(limits: WireLimits = WireLimits()) {
        self.limits = limits
        self.bodyBytesMax = limits.bodyBytesDefault
    }
}

extension RequestParser {
    /// The bytes received and not yet made into events.
    public var unreadByteCount: Int { buffer.count - consumed }

    public var phase: Phase {
        switch state {
        case .head: headScanner.isBlank(unreadByteCount) ? .idle : .head
        case .lengthBody, .chunkedBody, .end: .body
        case .closed: .closed
        case .failed: .failed
        }
    }

    /// Takes in what was received; the bytes are copied. They are ignored once no further request can come.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .closed, .failed: return
        case .head, .lengthBody, .chunkedBody, .end: break
        }
        if consumed > 0 {
            buffer = Array(buffer[consumed...])
            consumed = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Takes in what was received; the bytes are copied.
    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// The next event, or nil until more bytes come (and for ever once the connection's last request is complete).
    ///
    /// - Throws: the error to answer, again and again. Close the connection after the answer.
    public mutating func nextEvent() throws(WireError) -> RequestEvent? {
        do {
            return try step()
        } catch {
            fail(error)
            throw error
        }
    }

    /// The peer sends no more. Call it when all events have been taken.
    ///
    /// - Throws: `truncatedRequest` in the middle of a request.
    public mutating func finish() throws(WireError) {
        switch phase {
        case .idle: close()
        case .closed, .failed: return
        case .head, .body:
            let error = WireError(.truncatedRequest)
            fail(error)
            throw error
        }
    }

    /// Yields no further request, whatever was received: the server is about to close the connection (RFC 9112
    /// section 9.6).
    public mutating func close() {
        if case .failed = state { return }
        state = .closed
        discardBuffer()
    }
}

extension RequestParser {
    private mutating func step() throws(WireError) -> RequestEvent? {
        switch state {
        case .head: return try nextHead()
        case .lengthBody(let left): return try nextLengthBody(left)
        case .chunkedBody: return try nextChunkedBody()
        case .end:
            finishRequest()
            return .end
        case .closed: return nil
        case .failed(let error): throw error
        }
    }

    private mutating func nextHead() throws(WireError) -> RequestEvent? {
        guard consumed < buffer.count else { return nil }
        let bytes = buffer
        guard let length = try headScanner.scan(bytes.span.extracting(consumed...), limits: limits) else { return nil }
        let head = try headScanner.makeHead(bytes, from: consumed)
        consume(length)
        bodyBytesMax = limits.bodyBytesDefault
        isKeepAlive = head.isKeepAlive
        enterBody(head.bodyFraming)
        return .head(head)
    }

    private mutating func enterBody(_ framing: BodyFraming) {
        switch framing {
        case .none: state = .end
        case .length(let length): state = .lengthBody(left: length)
        case .chunked:
            chunkScanner = ChunkedBodyScanner()
            state = .chunkedBody
        }
    }

    /// Content-Length is judged before the first byte of the body: a client that expects `100 Continue` gets its 413
    /// instead.
    private mutating func nextLengthBody(_ left: Int) throws(WireError) -> RequestEvent? {
        guard left <= bodyBytesMax else { throw WireError(.bodyTooLarge) }
        guard left > 0 else {
            finishRequest()
            return .end
        }
        let length = min(left, unreadByteCount)
        guard length > 0 else { return nil }
        state = length == left ? .end : .lengthBody(left: left - length)
        return .body(take(length))
    }

    private mutating func nextChunkedBody() throws(WireError) -> RequestEvent? {
        let bytes = buffer
        let unread = bytes.span.extracting(consumed...)
        switch try chunkScanner.next(unread, bodyBytesMax: bodyBytesMax, limits: limits) {
        case .data(let framing, let length):
            consume(framing)
            return .body(take(length))
        case .end(let framing):
            consume(framing)
            finishRequest()
            return .end
        case .needsMore(let framing):
            consume(framing)
            return nil
        }
    }

    private mutating func finishRequest() {
        state = .head
        if !isKeepAlive { close() }
    }

    private mutating func fail(_ error: WireError) {
        state = .failed(error)
        discardBuffer()
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        let slice = buffer[consumed..<(consumed + count)]
        consume(count)
        return slice
    }

    private mutating func consume(_ count: Int) {
        consumed += count
        if consumed == buffer.count { discardBuffer() }
    }

    private mutating func discardBuffer() {
        buffer = []
        consumed = 0
    }
}

/// The events that the parser reads from a connection's bytes.
public enum RequestEvent: Sendable {
    /// A request starts.
    case head(RequestHead)
    /// A piece of its body, decoded from chunks and never empty. The boundaries of the pieces have no meaning.
    case body(ArraySlice<UInt8>)
    /// The request is complete.
    case end
}

/// Parses the requests of one connection: bytes in, events out, no I/O (RFC 9112).
///
/// The connection's driver appends the bytes that it received, and reads events until there are none. The parser keeps
/// the bytes after a request until the next event is requested. A driver that responds before it requests the next
/// event thus serves pipelined requests in order.
///
/// Every error is final: it is thrown again on each call, and the bytes after it are never parsed as a request. A
/// request that closes the connection is also the last one.
public struct RequestParser: ~Copyable, Sendable {
    /// The part of a request for which the parser waits: each phase has its own deadline.
    public enum Phase: Sendable, Hashable {
        /// Between requests: only empty lines of the next one, if anything.
        case idle
        /// A request has begun, and its head is incomplete.
        case head
        /// The head is complete; the event `end` is still due.
        case body
        /// No further request follows.
        case closed
        /// An error was thrown. Every call of `nextEvent` throws it again.
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

    /// The largest body of the current request, checked when the body is read. Set it after `.head`, before the next
    /// event; each request resets it to ``WireLimits/bodyBytesDefault``.
    public var bodyBytesMax: Int

    private let limits: WireLimits
    private var state = State.head
    private var headScanner = HeadScanner()
    private var chunkScanner = ChunkedBodyScanner()
    private var isKeepAlive = true

    /// The received bytes; those before `consumed` are finished. Shared with the heads and bodies that were returned,
    /// and released when finished, so that an idle connection has no buffer.
    private var buffer: [UInt8] = []
    private var consumed = 0

    /// - Parameter limits: those of each request of the connection.
    public init(limits: WireLimits = WireLimits()) {
        self.limits = limits
        self.bodyBytesMax = limits.bodyBytesDefault
    }
}

extension RequestParser {
    /// The bytes received and not parsed yet.
    public var unreadByteCount: Int { buffer.count - consumed }

    /// Read it when `nextEvent` has returned nil: bytes that it has not scanned yet count as the start of a head.
    public var phase: Phase {
        switch state {
        case .head: headScanner.isBlank(unreadByteCount) ? .idle : .head
        case .lengthBody, .chunkedBody, .end: .body
        case .closed: .closed
        case .failed: .failed
        }
    }

    /// Appends a copy of received bytes. They are ignored if no further request can follow.
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

    /// Appends a copy of received bytes.
    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// The next event; nil until more bytes arrive, and always after the connection's last request.
    ///
    /// - Throws: the error to respond with, again on each call. Close the connection after the response.
    public mutating func nextEvent() throws(WireError) -> RequestEvent? {
        do {
            return try step()
        } catch {
            fail(error)
            throw error
        }
    }

    /// Reports that the peer has finished sending. Call it after the last event.
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

    /// Ends parsing and drops all unread bytes: the server is about to close the connection (RFC 9112 section 9.6).
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
        let head = try headScanner.makeHead(bytes, consumed..<(consumed + length))
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

    /// Checks Content-Length before the first byte of the body, so that a client that expects `100 Continue` gets a 413
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
        return .body(consumeSlice(length))
    }

    private mutating func nextChunkedBody() throws(WireError) -> RequestEvent? {
        let bytes = buffer
        let unread = bytes.span.extracting(consumed...)
        switch try chunkScanner.next(unread, bodyBytesMax: bodyBytesMax, limits: limits) {
        case .data(let framing, let length):
            consume(framing)
            return .body(consumeSlice(length))
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

    private mutating func consumeSlice(_ count: Int) -> ArraySlice<UInt8> {
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

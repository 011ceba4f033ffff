import HTTPTypes
import HTTPWire

/// The decisions of one connection, as a value: events in, actions out. It has no socket, no clock and no task.
///
/// Each event is a function. After an event the driver performs what ``next()`` returns until it returns nil. Then it
/// calls ``updateDeadlines(now:unacknowledged:)`` and applies ``interest`` and ``nextDeadline``. Requests are served
/// one after another, in order.
///
/// The phases, their timeouts (`Timeouts`) and their transitions:
///
/// - **receiving**: waits for the next request or reads it. Timeouts: `handshake` and `idle` before the first byte, or
///   `idleDrain` while draining; `head` from the first byte (408); `body` from the end of the head (408); `memory`
///   while the loop's memory is exhausted and this connection may not be read (503). A head leads to *routing*, a
///   complete request to *responding*. A malformed request gets its response and leads to *finishing*.
/// - **routing**: the driver finds the route at once; back to *receiving*.
/// - **admitting**: the body has not arrived yet and the route checks the head. Timeout: `handler` (503). Nothing is
///   read. Admission leads back to *receiving*; a refusal is the response and leads to *finishing*.
/// - **responding**: the handler runs. Timeouts: `handler` (503), `halfClosed` once the client has stopped sending. Up
///   to `pipelinedBytesMax` are read ahead. The response leads to *receiving* or *finishing*, the head of a streamed
///   response to *streaming*. While the loop's memory is exhausted, a body of more than `heldBytesFree` is not sent:
///   the response is a 503 and leads to *finishing*.
/// - **streaming**: a streamed response has begun. Timeout between two writes of its producer: `handler`. This and
///   every other failure resets the connection, because no other response may follow. Its end leads to *receiving* or
///   *finishing*.
/// - **refusing**: the driver renders the connection's last response at once; leads to *finishing*.
/// - **finishing**: the last response is being sent. Nothing is read. Once it is sent: *lingering*.
/// - **lingering**: all is sent. Input is dropped until the client closes. Timeout: `linger`. Closing now would send
///   RST, which could destroy the response in flight (RFC 9112 section 9.6).
/// - **closed**: the descriptor is closed. The only actions that follow report the exchanges that were cut.
///
/// In every phase, while bytes wait for the client, it must read `readBytesPerSecondMin` on average in each `write`
/// interval, else the connection is reset. No request begins while `outputHighWatermarkBytes` or `unsentResponsesMax`
/// wait, or, while the loop's memory is exhausted, any byte. A broken transport leads to *closed*.
struct ConnectionState: ~Copyable {
    typealias Instant = ContinuousClock.Instant

    enum Phase {
        case receiving, routing, admitting, responding, streaming, refusing, finishing, lingering, closed
    }

    /// Reads from a connection before others get their turn. With a full buffer each, that is 256 KiB.
    static let readsPerTurnMax = 4
    /// Whole responses that wait for the client. Each holds the head of its request, which the access log needs.
    static let unsentResponsesMax = 64

    let rules: ConnectionRules
    private(set) var phase = Phase.receiving
    private(set) var output = OutputBuffer()
    /// The request being handled, until its response is written.
    private(set) var exchange: Exchange?
    /// The loop's memory is exhausted: each connection may hold only `heldBytesFree`. Set by the driver.
    var isMemoryShort = false
    /// Whether the head of a request has arrived.
    private(set) var hasBegunRequest = false
    /// The TLS handshake is not complete. Set by the driver.
    var isHandshaking = false

    private var parser: RequestParser
    private var stream: ResponseBodyEncoder?
    private var isStreamKeepAlive = false
    private var isStreamWaiting = false
    private var isDraining = false
    /// The client has stopped sending.
    private var inputHasEnded = false
    private var isReadable = false
    private var isWritable = true
    /// The transport holds bytes that the socket did not accept.
    private var transportHasUnsentBytes = false
    private var readsLeft = readsPerTurnMax
    /// The exchanges whose responses are written but not sent yet, in order: a list linked by `following`.
    private var firstSending: Exchange?
    private var lastSending: Exchange?
    private var sendingCount = 0
    /// Actions that do not follow from the other properties.
    private var queued: [Action] = []

    private var deadlines = ConnectionDeadlines()
    /// When the first byte of the current head was there; nil if no head is being read.
    private var headStart: Instant?

    init(_ rules: ConnectionRules, isDraining: Bool = false) {
        self.rules = rules
        self.isDraining = isDraining
        parser = RequestParser(limits: rules.wire)
    }
}

// MARK: - What to do

extension ConnectionState {
    /// The next action; nil if there is nothing to do until the next event.
    mutating func next() -> Action? {
        if !queued.isEmpty { return queued.removeFirst() }
        if phase == .closed { return nil }
        if let exchange = popSent() { return .finished(exchange) }
        if isStreamWaiting, !isStreamFull {
            isStreamWaiting = false
            return .resumeStream
        }
        if let action = parse() { return action }
        if hasOutput, isWritable { return .send }
        if phase == .finishing, !hasOutput { return linger() }
        if isReadable, wantsInput, readsLeft > 0 {
            readsLeft -= 1
            return .read(bytesMax: readBytesMax)
        }
        return nil
    }

    /// The readiness to poll the socket for.
    var interest: (readable: Bool, writable: Bool) { (wantsInput, hasOutput && phase != .closed) }

    /// Whether there is more to read that no poller reports: the driver must continue after the other connections'
    /// turn.
    var hasMoreToRead: Bool { isReadable && wantsInput }

    /// Between requests, with no byte of the next one.
    var isIdle: Bool { phase == .receiving && exchange == nil && !hasOutput && parser.phase == .idle }

    /// The bytes of requests and responses that the connection holds: unread input, heads, bodies and unsent output.
    var heldByteCount: Int {
        var count = parser.unreadByteCount + output.count + (exchange?.heldByteCount ?? 0)
        var sending = firstSending
        while let exchange = sending {
            count += exchange.heldByteCount
            sending = exchange.following
        }
        return count
    }

    private var hasOutput: Bool { !output.isEmpty || transportHasUnsentBytes }

    private mutating func popSent() -> Exchange? {
        guard !transportHasUnsentBytes, let exchange = firstSending, exchange.outputEnd <= output.sentTotal else {
            return nil
        }
        firstSending = exchange.following
        exchange.following = nil
        sendingCount -= 1
        if firstSending == nil { lastSending = nil }
        exchange.isComplete = true
        return exchange
    }

    private mutating func linger() -> Action {
        phase = .lingering
        if inputHasEnded { close(reset: false) }
        return .finishWriting
    }

    /// Whether to read on. Unread input is limited; TCP then slows the client down.
    var wantsInput: Bool {
        guard !inputHasEnded else { return false }
        switch phase {
        case .receiving, .routing, .responding, .streaming:
            return parser.unreadByteCount < rules.pipelinedBytesMax && !isStalled
        case .admitting, .refusing, .finishing, .closed: return false
        case .lingering: return true
        }
    }

    /// The connection holds as much as it may while the loop's memory is exhausted.
    private var isStalled: Bool { isMemoryShort && heldByteCount >= rules.heldBytesFree }

    /// The size of the next read. At least 1 if `wantsInput`, because a stalled connection is not read.
    private var readBytesMax: Int {
        isMemoryShort && phase != .lingering ? rules.heldBytesFree - heldByteCount : .max
    }
}

// MARK: - From bytes to requests

extension ConnectionState {
    /// Parses requests from the input, unless a request is being handled or too much output waits.
    private mutating func parse() -> Action? {
        while phase == .receiving, mayParse {
            do {
                switch try parser.nextEvent() {
                case .head(let head):
                    phase = .routing
                    return .route(head)
                case .body(let bytes): appendToBody(bytes)
                case .end: return run()
                case nil:
                    if let exchange, !exchange.isAdmitted {
                        phase = .admitting
                        return .admit(exchange)
                    }
                    // Input that the transport still holds comes before the end of the input.
                    guard inputHasEnded || parser.phase == .closed else { return nil }
                    try parser.finish()
                    phase = .finishing
                }
            } catch {
                return receivingFailed(error)
            }
        }
        return nil
    }

    /// While memory is short, a request begins only once the output is sent. A request that has begun is read on.
    private var mayParse: Bool {
        guard output.count < rules.outputHighWatermarkBytes, sendingCount < Self.unsentResponsesMax else {
            return false
        }
        return exchange != nil || !isMemoryShort || !hasOutput
    }

    /// A body beyond its limit goes to the handler, which may refuse the request for another reason first. Any other
    /// error gets its response here. In both cases the rest of the input is not parsed as a request.
    private mutating func receivingFailed(_ error: WireError) -> Action? {
        guard error.reason == .bodyTooLarge, let exchange else {
            refuse(Problem(error))
            return queued.isEmpty ? nil : queued.removeFirst()
        }
        exchange.isBodyTooLarge = true
        exchange.body = []
        return run()
    }

    private mutating func run() -> Action? {
        phase = .responding
        return exchange.map(Action.run)
    }

    /// Starts the exchange of a `route` action; it has its target now.
    mutating func begin(_ exchange: Exchange) {
        guard phase == .routing, let head = exchange.head else { return }
        self.exchange = exchange
        hasBegunRequest = true
        headStart = nil
        phase = .receiving
        guard head.bodyFraming != .none else { return }
        let wanted = exchange.bodyBytesMax
        guard head.expectsContinue else {
            parser.bodyBytesMax = max(wanted, rules.droppedBodyBytesMax)
            return
        }
        // With `Expect: 100-continue`, an unwanted body gets the final response at once. Without it, up to
        // `droppedBodyBytesMax` is read and discarded, so that the connection survives.
        parser.bodyBytesMax = wanted
        if !head.hasBody(within: wanted) {
            parser.close()
            exchange.isBodyTooLarge = true
            if let action = run() { queued.append(action) }
        } else if exchange.isAdmitted {
            ResponseEncoder.encodeContinue(into: &output.bytes)
        }
    }

    /// The route accepts the head, so the body is read.
    mutating func admitted(_ exchange: Exchange) {
        guard phase == .admitting, self.exchange === exchange else { return }
        exchange.isAdmitted = true
        phase = .receiving
        if exchange.head?.expectsContinue == true { ResponseEncoder.encodeContinue(into: &output.bytes) }
    }

    private mutating func appendToBody(_ bytes: ArraySlice<UInt8>) {
        guard let exchange else { return }
        exchange.bodyByteCount += bytes.count
        if exchange.bodyByteCount > exchange.bodyBytesMax {
            exchange.isBodyTooLarge = true
            exchange.body = []
        } else {
            if exchange.body.isEmpty, case .length(let length)? = exchange.head?.bodyFraming {
                exchange.body.reserveCapacity(length)
            }
            exchange.body.append(contentsOf: bytes)
        }
    }
}

// MARK: - Events of the transport

extension ConnectionState {
    /// The poller reports that there is something to read, or the driver continues reading.
    mutating func becameReadable() {
        isReadable = true
        readsLeft = Self.readsPerTurnMax
    }

    mutating func becameWritable() { isWritable = true }

    /// - Parameter hasMore: the transport holds more input, which no poller reports.
    mutating func received(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) {
        isReadable = hasMore
        switch phase {
        case .receiving, .routing, .admitting, .responding, .streaming: parser.append(bytes)
        case .refusing, .finishing, .lingering, .closed: break
        }
    }

    mutating func readWouldBlock() { isReadable = false }

    /// The client has stopped sending. It may still want its responses.
    mutating func inputEnded() {
        isReadable = false
        inputHasEnded = true
        if phase == .lingering { close(reset: false) }
    }

    /// The transport accepted `count` bytes of the output.
    ///
    /// - Parameter transportHasUnsentBytes: the transport holds bytes that the socket did not accept.
    mutating func sent(_ count: Int, transportHasUnsentBytes: Bool) {
        output.remove(count)
        self.transportHasUnsentBytes = transportHasUnsentBytes
        if hasOutput { isWritable = false }
    }

    /// The transport may have bytes of its own to send, such as those of a handshake.
    mutating func updateTransport(hasUnsentBytes: Bool) {
        transportHasUnsentBytes = hasUnsentBytes
        if hasUnsentBytes { isWritable = false }
    }

    /// The transport failed, or the peer reset the connection.
    mutating func transportFailed() { close(reset: false) }
}

// MARK: - Responses

extension ConnectionState {
    /// Whether the exchange still waits for its response, or for the rest of it.
    func isCurrent(_ exchange: Exchange) -> Bool {
        guard self.exchange === exchange else { return false }
        switch phase {
        case .admitting, .responding, .streaming: return true
        case .receiving, .routing, .refusing, .finishing, .lingering, .closed: return false
        }
    }

    /// Gives the output buffer memory, if it has none.
    mutating func adoptBuffer(_ spare: inout [UInt8]) { output.adopt(&spare) }

    /// Returns the output buffer's memory once it is not needed any more.
    mutating func releaseBuffer() -> [UInt8]? { output.release() }

    /// Writes the whole response of the exchange, whose handler has ended.
    ///
    /// - Parameter date: the value of the field Date.
    mutating func respond(to exchange: Exchange, with response: ServerResponse, date: [UInt8]) {
        guard isCurrent(exchange), phase != .streaming, let head = exchange.head else { return }
        exchange.body = []
        if isMemoryShort, response.bodyByteCount > rules.heldBytesFree {
            phase = .refusing
            return queued.append(.refuse(.overloaded, exchange))
        }
        // The rest of an unread body would be parsed as the next request.
        let canGoOn = phase == .responding && isParserOpen && !isDraining
        let encoder = ResponseEncoder(for: head, isKeepAlive: canGoOn)
        let isWhole = write(response, to: exchange, by: encoder, date: date)
        end(exchange, isKeepAlive: isWhole && encoder.isKeepAlive)
    }

    /// Writes the connection's last response. `exchange` is the current one, or a stand-in if the input was not a
    /// request.
    mutating func respondLast(to exchange: Exchange, with response: ServerResponse, date: [UInt8]) {
        guard phase == .refusing else { return }
        let encoder = exchange.head.map { ResponseEncoder(for: $0, isKeepAlive: false) } ?? .closing
        _ = write(response, to: exchange, by: encoder, date: date)
        end(exchange, isKeepAlive: false)
    }

    private var isParserOpen: Bool { parser.phase != .failed && parser.phase != .closed }

    private mutating func end(_ exchange: Exchange, isKeepAlive: Bool) {
        finish(exchange)
        phase = isKeepAlive ? .receiving : .finishing
        if !isKeepAlive { parser.close() }
    }

    /// The response is written; the exchange ends once it is sent.
    private mutating func finish(_ exchange: Exchange) {
        exchange.outputEnd = output.end
        if let lastSending { lastSending.following = exchange } else { firstSending = exchange }
        lastSending = exchange
        sendingCount += 1
        self.exchange = nil
        deadlines.endWait()
    }

    /// - Returns: false if the response could not be written and a 500 went out in its place.
    private mutating func write(
        _ response: ServerResponse, to exchange: Exchange, by encoder: ResponseEncoder, date: [UInt8]
    ) -> Bool {
        do {
            let body: [UInt8] = if case .bytes(let bytes) = response.body { bytes } else { [] }
            try encoder.encode(
                response.status, response.fields, body: body.span, date: date,
                more: { exchange.writeOwnFields(to: &$0) },
                into: &output.bytes)
            exchange.responseBodyByteCount = exchange.head?.method == .head ? 0 : body.count
            exchange.status = response.status
            return true
        } catch {
            queued.append(.reportUnsendable(exchange, error))
            exchange.status = .internalServerError
            try? ResponseEncoder.closing.encode(
                .internalServerError, body: Span(), date: date, more: { exchange.writeOwnFields(to: &$0) },
                into: &output.bytes)
            return false
        }
    }

    /// Ends the connection with a response, unless one has begun.
    private mutating func refuse(_ problem: Problem) {
        switch phase {
        case .receiving, .routing, .admitting, .responding:
            // A running handler may still read the body.
            if phase == .receiving { exchange?.body = [] } else if let exchange { queued.append(.cancel(exchange)) }
            phase = .refusing
            queued.append(.refuse(problem, exchange))
        case .streaming: close(reset: true)
        case .refusing, .finishing, .lingering, .closed: break
        }
    }
}

// MARK: - Streamed responses

extension ConnectionState {
    /// Writes the head of a response of unknown length; it is sent at once.
    ///
    /// - Returns: whether the body may follow.
    mutating func beginStream(of exchange: Exchange, _ response: ServerResponse, date: [UInt8]) -> Bool {
        guard isCurrent(exchange), phase == .responding, let head = exchange.head else { return false }
        var encoder = ResponseEncoder(for: head, isKeepAlive: isParserOpen && !isDraining)
        do {
            stream = try encoder.encodeStream(
                response.status, response.fields, date: date, more: { exchange.writeOwnFields(to: &$0) },
                into: &output.bytes)
            exchange.status = response.status
            isStreamKeepAlive = encoder.isKeepAlive
            phase = .streaming
            return true
        } catch {
            queued.append(.reportUnsendable(exchange, error))
            refuse(.internalError)
            return false
        }
    }

    /// Writes a piece of the body.
    mutating func streamed(_ bytes: Span<UInt8>, of exchange: Exchange) {
        guard isCurrent(exchange), phase == .streaming else { return }
        exchange.responseBodyByteCount += bytes.count
        stream?.encode(bytes, into: &output.bytes)
    }

    /// The producer wrote something, possibly not sent yet. Restarts its timeout.
    mutating func producerActed() { if deadlines.wait == .producer { deadlines.endWait() } }

    /// Whether the producer must wait for the reader; `resumeStream` ends the wait.
    mutating func streamMustWait(_ exchange: Exchange) -> Bool {
        isStreamWaiting = isCurrent(exchange) && output.count >= streamBytesMax
        return isStreamWaiting
    }

    /// A waiting stream continues once half of `streamBytesMax` is sent.
    private var isStreamFull: Bool { output.count > streamBytesMax / 2 }

    private var streamBytesMax: Int { isMemoryShort ? rules.heldBytesFree : rules.outputHighWatermarkBytes }

    mutating func endStream(of exchange: Exchange) {
        guard isCurrent(exchange), phase == .streaming else { return }
        exchange.body = []
        stream?.encodeEnd(into: &output.bytes)
        stream = nil
        end(exchange, isKeepAlive: isStreamKeepAlive && !isDraining)
    }

    /// Resets the connection: the missing end tells the client that the response is incomplete.
    mutating func failStream(of exchange: Exchange) {
        if isCurrent(exchange) { close(reset: true) }
    }
}

// MARK: - The end

extension ConnectionState {
    /// Refuses the connection: the problem is its only response.
    mutating func refuseAll(_ problem: Problem) { refuse(problem) }

    /// The server stops: requests in flight get their responses, and an idle connection may still send a request that
    /// is on its way, for `idleDrain`.
    mutating func drain() { isDraining = true }

    /// Ends the connection at once.
    mutating func abort() { close(reset: true) }

    /// Closes the connection if it is idle, to make room for another.
    mutating func evict() { if isIdle { close(reset: false) } }

    private mutating func close(reset: Bool) {
        guard phase != .closed else { return }
        var isRunning = phase == .admitting || phase == .responding || phase == .streaming
        // A refusal of the same moment may not have cancelled the handler yet.
        for case .cancel in queued { isRunning = true }
        phase = .closed
        queued = [.close(reset: reset)]
        if let exchange {
            if isRunning { queued.append(.cancel(exchange)) }
            finish(exchange)
        }
        while let exchange = firstSending {
            firstSending = exchange.following
            exchange.following = nil
            queued.append(.finished(exchange))
        }
        lastSending = nil
        sendingCount = 0
        if isStreamWaiting { queued.append(.resumeStream) }
        isStreamWaiting = false
        stream = nil
        deadlines = ConnectionDeadlines()
        parser.close()
        output.discard()
    }
}

// MARK: - Deadlines

extension ConnectionState {
    /// The latest time at which `timePassed` must be called.
    var nextDeadline: Instant? { deadlines.next }

    /// Derives the deadlines from the state. A deadline starts when its wait starts, so that a client that sends byte
    /// by byte does not move it.
    ///
    /// - Parameter unacknowledged: the bytes that the system accepted and the peer has not acknowledged.
    mutating func updateDeadlines(now: Instant, unacknowledged: @autoclosure () -> Int) {
        guard phase != .closed else { return }
        let wait = nextWait
        if exchange == nil, wait == .head || wait == .memory { headStart = headStart ?? now }
        if wait != deadlines.wait { deadlines.begin(wait, until: deadline(of: wait, from: now)) }
        if hasOutput {
            watchReader(now, unacknowledged())
        } else {
            deadlines.stopWatchingReader()
        }
    }

    mutating func timePassed(now: Instant, unacknowledged: @autoclosure () -> Int) {
        guard phase != .closed else { return }
        if let wait = deadlines.passedWait(now: now) { waitEnded(wait) }
        let sent = output.sentTotal
        guard phase != .closed, let rate = deadlines.readingRate(now: now, acknowledged: sent - unacknowledged()) else {
            return
        }
        if rate < Double(rules.readBytesPerSecondMin) { close(reset: true) } else { watchReader(now, unacknowledged()) }
    }

    private mutating func watchReader(_ now: Instant, _ unacknowledged: @autoclosure () -> Int) {
        let sent = output.sentTotal
        deadlines.watchReader(now: now, acknowledged: sent - unacknowledged(), for: rules.timeouts.write)
    }

    private mutating func waitEnded(_ wait: ConnectionDeadlines.Wait) {
        switch wait {
        case .head: refuse(.headTimeout)
        case .body: refuse(.bodyTimeout)
        case .memory: refuse(.overloaded)
        case .handler: refuse(.handlerTimeout)
        case .producer: close(reset: true)
        case .handshake, .idle, .idleDrain, .halfClosed, .linger: close(reset: false)
        case .reader: break
        }
    }

    private var nextWait: ConnectionDeadlines.Wait {
        switch phase {
        case .receiving, .routing, .refusing: receivingWait
        case .admitting, .responding: inputHasEnded ? .halfClosed : .handler
        case .streaming: hasOutput ? .reader : .producer
        case .finishing, .closed: .reader
        case .lingering: .linger
        }
    }

    private var receivingWait: ConnectionDeadlines.Wait {
        if isStalled, exchange != nil || parser.phase == .head { return .memory }
        if exchange != nil { return .body }
        if hasOutput { return .reader }
        switch parser.phase {
        case .head, .body: return .head
        case .idle, .closed, .failed: break
        }
        if isDraining { return .idleDrain }
        return isHandshaking ? .handshake : .idle
    }

    /// Nil for a wait that is bounded by the client's reading rate only.
    private func deadline(of wait: ConnectionDeadlines.Wait, from now: Instant) -> Instant? {
        let timeouts = rules.timeouts
        return switch wait {
        case .handshake: now + timeouts.handshake
        case .idle: now + timeouts.idle
        case .idleDrain: now + timeouts.idleDrain
        // These two are counted from the first byte and the end of the head, also if the connection waited for memory
        // since.
        case .head: (headStart ?? now) + timeouts.head
        case .body: (exchange?.start ?? now) + timeouts.body
        case .memory: now + timeouts.memory
        case .handler, .producer: now + timeouts.handler
        case .halfClosed: now + timeouts.halfClosed
        case .linger: now + timeouts.linger
        case .reader: nil
        }
    }
}

extension RequestHead {
    /// Whether the body, as far as its length is known, has at most `length` bytes.
    fileprivate func hasBody(within length: Int) -> Bool {
        switch bodyFraming {
        case .none: true
        case .length(let bytes): bytes <= length
        case .chunked: length > 0
        }
    }
}

extension ServerResponse {
    fileprivate var bodyByteCount: Int {
        if case .bytes(let bytes) = body { bytes.count } else { 0 }
    }
}

extension Exchange {
    /// The fields that the server adds to every response, besides those of the protocol.
    fileprivate func writeOwnFields(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "X-Request-Id: ".utf8)
        requestID.write(to: &bytes)
        bytes.append(contentsOf: "\r\n".utf8)
    }
}

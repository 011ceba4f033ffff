import HTTPTypes
import HTTPWire

/// The decisions of one connection, as a value: it hears what happened and says what to do. It knows no socket, no
/// clock and no task.
///
/// Each event is a function. After an event the driver carries out what ``next()`` returns until it returns nil, and
/// then calls ``settle(now:unacknowledged:)`` and obeys ``interest`` and ``nextDeadline``. Requests are served one
/// after another, in order.
///
/// The phases, what each waits for at most how long (`Deadlines`), and what ends it:
///
/// - **receiving**: the next request is on its way, or none is. Waits: `handshake`, `idle` (`idleDrain` while
///   draining) before its first byte, `head` from there (408), `body` from the end of the head (408), `memory` while
///   the loop holds too much and this connection may not be read (503). A head leads to *routing*, a complete request
///   to *responding*. A request that breaks a rule gets its response and leads to *finishing*.
/// - **routing**: the driver finds the route, at once; back to *receiving*.
/// - **admitting**: the body is still on its way and the route judges the head: `handler` (503). Nothing is read.
///   Admission leads back to *receiving*, a refusal is the response and leads to *finishing*.
/// - **responding**: the handler runs: `handler` (503), `halfClosed` once the client has stopped sending. Reads
///   ahead, up to `unreadBytesMax`. Its response leads to *receiving* or *finishing*, the head of a streamed one to
///   *streaming*.
/// - **streaming**: the response has begun. Its producer may be silent for `handler` at most; this and every other
///   failure resets the connection, as nothing may be written behind a response that has begun. Its end leads to
///   *receiving* or *finishing*.
/// - **refusing**: the driver renders the connection's last response, at once; leads to *finishing*.
/// - **finishing**: the last response is being sent. Nothing is read. Once it is sent: *lingering*.
/// - **lingering**: all is sent; what the client still sends is dropped until it closes, for `linger`: closing now
///   would send RST, which could destroy the response on its way (RFC 9112 section 9.6).
/// - **closed**: the descriptor is closed. No action follows but the reports of what was cut.
///
/// In every phase: while bytes wait for the client it must take `readBytesPerSecondMin` in each `write`, else the
/// connection is reset. No request begins while `unsentBytesMax` wait. A transport that breaks leads to *closed*.
struct ConnectionState: ~Copyable {
    typealias Instant = ContinuousClock.Instant

    enum Phase {
        case receiving, routing, admitting, responding, streaming, refusing, finishing, lingering, closed
    }

    /// What the driver has to do.
    enum Action {
        /// Read from the transport once, and report it: `received`, `readNothing`, `inputEnded` or `broke`.
        case read
        /// Send what `output` holds, as far as the transport takes it, and report it: `sent` or `broke`.
        case send
        /// Find the route of the request and report it: `begin`.
        case route(RequestHead)
        /// Have the route judge the head: `admitted`, or `respond` with the refusal.
        case admit(Exchange)
        /// Have the request answered: `respond`, or `beginStream` and so on.
        case run(Exchange)
        /// Render the problem as the connection's last response: `respondLast`.
        indirect case refuse(Problem, Exchange?)
        /// The handler runs in vain: cancel it.
        case cancel(Exchange)
        /// The exchange is over: tell the observer.
        case finished(Exchange)
        /// The producer of the stream waits and may go on.
        case resumeStream
        /// A response could not be written as the handler made it; a 500 went out in its place.
        indirect case reportUnsendable(Exchange, ResponseError)
        /// Tell the peer that nothing follows.
        case finishWriting
        /// Close the descriptor; with `reset` the peer learns that the response is not complete.
        case close(reset: Bool)
    }

    /// Reads from a connection before others have their turn. With a full buffer each, it is 256 KiB.
    static let readsPerTurnMax = 4

    let rules: ConnectionRules
    private(set) var phase = Phase.receiving
    private(set) var output = OutputBuffer()
    /// The request in work, until its response is written.
    private(set) var exchange: Exchange?
    /// The loop holds as much as it may: only little is read until it is less. Set by the driver.
    var isMemoryShort = false
    /// The handshake of TLS is under way. Set by the driver.
    var isHandshaking = false

    private var parser: RequestParser
    private var stream: ResponseBodyEncoder?
    private var isStreamKeepAlive = false
    private var isStreamWaiting = false
    private var isDraining = false
    /// The client sends no more.
    private var inputHasEnded = false
    private var isReadable = false
    private var isWritable = true
    /// The transport holds bytes of its own that the socket did not take.
    private var isHeldBack = false
    private var readsLeft = readsPerTurnMax
    /// The exchanges whose responses are written and not yet sent, in order.
    private var firstSending: Exchange?
    private var lastSending: Exchange?
    /// Actions that no state implies.
    private var queued: [Action] = []

    private var deadlines = ConnectionDeadlines()

    init(_ rules: ConnectionRules, isDraining: Bool = false) {
        self.rules = rules
        self.isDraining = isDraining
        parser = RequestParser(limits: rules.wire)
    }
}

// MARK: - What to do

extension ConnectionState {
    /// The next action, nil until something happens.
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
            return .read
        }
        return nil
    }

    /// What the socket is to be polled for.
    var interest: (readable: Bool, writable: Bool) { (wantsInput, hasOutput && phase != .closed) }

    /// Whether there is more to read now, of which no poller tells: the driver has to come back after the others' turn.
    var hasMoreToRead: Bool { isReadable && wantsInput }

    /// Between requests, with nothing of the next one.
    var isIdle: Bool { phase == .receiving && exchange == nil && !hasOutput && parser.phase == .idle }

    /// The bytes that the connection holds of requests and responses.
    var heldByteCount: Int {
        var count = parser.unreadByteCount + output.count + (exchange?.body.count ?? 0)
        var sending = firstSending
        while let exchange = sending {
            count += exchange.body.count
            sending = exchange.following
        }
        return count
    }

    private var hasOutput: Bool { !output.isEmpty || isHeldBack }

    private mutating func popSent() -> Exchange? {
        guard let exchange = firstSending, exchange.outputEnd <= output.sentTotal, !isHeldBack else { return nil }
        firstSending = exchange.following
        exchange.following = nil
        if firstSending == nil { lastSending = nil }
        exchange.isComplete = true
        return exchange
    }

    private mutating func linger() -> Action {
        phase = .lingering
        if inputHasEnded { close(reset: false) }
        return .finishWriting
    }

    /// Whether to read on: unread input is limited, and TCP makes the client wait.
    var wantsInput: Bool {
        guard !inputHasEnded else { return false }
        switch phase {
        case .receiving, .routing, .responding, .streaming:
            return parser.unreadByteCount < rules.unreadBytesMax && !isStalled
        case .admitting, .refusing, .finishing, .closed: return false
        case .lingering: return true
        }
    }

    /// The connection has what each may hold while the loop's memory is short.
    private var isStalled: Bool { isMemoryShort && heldByteCount >= rules.heldBytesFree }
}

// MARK: - From bytes to requests

extension ConnectionState {
    /// Takes requests from what has arrived, as far as the client, the handler and the reader let it.
    private mutating func parse() -> Action? {
        while phase == .receiving, output.count < rules.unsentBytesMax {
            do {
                switch try parser.nextEvent() {
                case .head(let head):
                    phase = .routing
                    return .route(head)
                case .body(let bytes): take(bytes)
                case .end: return run()
                case nil:
                    if let exchange, !exchange.isAdmitted {
                        phase = .admitting
                        return .admit(exchange)
                    }
                    // What the transport still holds comes before the end of the input.
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

    /// A body beyond its limit goes to the handler as such, which may refuse the request for another reason first;
    /// anything else is answered by the protocol. Either way nothing behind it is read as a request.
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

    /// The request of a `route` action, with its route.
    mutating func begin(_ exchange: Exchange) {
        guard phase == .routing, let head = exchange.head else { return }
        self.exchange = exchange
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

    /// The route lets the body come.
    mutating func admitted(_ exchange: Exchange) {
        guard phase == .admitting, self.exchange === exchange else { return }
        exchange.isAdmitted = true
        phase = .receiving
        if exchange.head?.expectsContinue == true { ResponseEncoder.encodeContinue(into: &output.bytes) }
    }

    private mutating func take(_ bytes: ArraySlice<UInt8>) {
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
    /// The poller says that there is something to read; or the driver comes back to read on.
    mutating func becameReadable() {
        isReadable = true
        readsLeft = Self.readsPerTurnMax
    }

    mutating func becameWritable() { isWritable = true }

    /// - Parameter hasMore: the transport holds more that no poller tells of.
    mutating func received(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) {
        isReadable = hasMore
        switch phase {
        case .receiving, .routing, .admitting, .responding, .streaming: parser.append(bytes)
        case .refusing, .finishing, .lingering, .closed: break
        }
    }

    mutating func readNothing() { isReadable = false }

    /// The client finished sending. It may still want its responses.
    mutating func inputEnded() {
        isReadable = false
        inputHasEnded = true
        if phase == .lingering { close(reset: false) }
    }

    /// The transport took `count` bytes of the output.
    ///
    /// - Parameter isHeldBack: it holds bytes that the socket did not take.
    mutating func sent(_ count: Int, isHeldBack: Bool) {
        output.remove(count)
        self.isHeldBack = isHeldBack
        if hasOutput { isWritable = false }
    }

    /// The transport itself has bytes to send, such as those of a handshake.
    mutating func holdBack(_ isHeldBack: Bool) {
        self.isHeldBack = isHeldBack
        if isHeldBack { isWritable = false }
    }

    /// The transport failed, or the peer reset the connection.
    mutating func broke() { close(reset: false) }
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

    /// Gives the output memory to write into, where it has none.
    mutating func adoptBuffer(_ spare: inout [UInt8]) { output.adopt(&spare) }

    /// Memory of the output that is not needed any more.
    mutating func releaseBuffer() -> [UInt8]? { output.release() }

    /// Writes the whole response of the exchange.
    ///
    /// - Parameter date: the value of the field Date.
    mutating func respond(to exchange: Exchange, with response: ServerResponse, date: [UInt8]) {
        guard isCurrent(exchange), phase != .streaming, let head = exchange.head else { return }
        // Of a body that nobody reads the rest would be taken for the next request.
        let canGoOn = phase == .responding && isParserOpen && !isDraining
        let encoder = ResponseEncoder(answering: head, isKeepAlive: canGoOn)
        let isWhole = write(response, encoder, exchange, date)
        end(exchange, isKeepAlive: isWhole && encoder.isKeepAlive)
    }

    /// Writes the connection's last response; `exchange` is the present one, or stands for what was no request.
    mutating func respondLast(to exchange: Exchange, with response: ServerResponse, date: [UInt8]) {
        guard phase == .refusing else { return }
        let encoder = exchange.head.map { ResponseEncoder(answering: $0, isKeepAlive: false) } ?? .closing
        _ = write(response, encoder, exchange, date)
        end(exchange, isKeepAlive: false)
    }

    private var isParserOpen: Bool { parser.phase != .failed && parser.phase != .closed }

    private mutating func end(_ exchange: Exchange, isKeepAlive: Bool) {
        finish(exchange)
        phase = isKeepAlive ? .receiving : .finishing
        if !isKeepAlive { parser.close() }
    }

    /// The response is written; it is over once it is sent.
    private mutating func finish(_ exchange: Exchange) {
        exchange.outputEnd = output.end
        if let lastSending { lastSending.following = exchange } else { firstSending = exchange }
        lastSending = exchange
        self.exchange = nil
        deadlines.endWait()
    }

    /// - Returns: false if the response could not be written and a 500 went out in its place.
    private mutating func write(
        _ response: ServerResponse, _ encoder: ResponseEncoder, _ exchange: Exchange, _ date: [UInt8]
    ) -> Bool {
        do {
            let body: [UInt8] = if case .bytes(let bytes) = response.body { bytes } else { [] }
            try encoder.encode(
                response.status, response.fields, body: body.span, date: date,
                more: { exchange.writeOwnFields(to: &$0) },
                into: &output.bytes)
            exchange.responseBodyByteCount = body.count
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

    /// Ends the connection with a response, if none has begun.
    private mutating func refuse(_ problem: Problem) {
        switch phase {
        case .receiving, .routing, .admitting, .responding:
            if let exchange, phase != .receiving { queued.append(.cancel(exchange)) }
            phase = .refusing
            queued.append(.refuse(problem, exchange))
        case .streaming: close(reset: true)
        case .refusing, .finishing, .lingering, .closed: break
        }
    }
}

// MARK: - Streamed responses

extension ConnectionState {
    /// Writes the head of a response of unknown length. It leaves at once.
    ///
    /// - Returns: whether its body may follow.
    mutating func beginStream(of exchange: Exchange, _ response: ServerResponse, date: [UInt8]) -> Bool {
        guard isCurrent(exchange), phase == .responding, let head = exchange.head else { return false }
        var encoder = ResponseEncoder(answering: head, isKeepAlive: isParserOpen && !isDraining)
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

    /// The producer has made something, be it that it is not sent yet: it is not silent.
    mutating func producerActed() { if deadlines.wait == .producer { deadlines.endWait() } }

    /// Whether the producer has to wait for the reader; `resumeStream` ends the wait.
    mutating func streamMustWait(_ exchange: Exchange) -> Bool {
        isStreamWaiting = isCurrent(exchange) && output.count >= streamBytesMax
        return isStreamWaiting
    }

    /// A stream that waited goes on when half of what it may have unsent is sent.
    private var isStreamFull: Bool { output.count > streamBytesMax / 2 }

    private var streamBytesMax: Int { isMemoryShort ? rules.heldBytesFree : rules.unsentBytesMax }

    mutating func endStream(of exchange: Exchange) {
        guard isCurrent(exchange), phase == .streaming else { return }
        stream?.encodeEnd(into: &output.bytes)
        stream = nil
        end(exchange, isKeepAlive: isStreamKeepAlive && !isDraining)
    }

    /// A missing end tells the client that the response is not complete.
    mutating func failStream(of exchange: Exchange) {
        if isCurrent(exchange) { close(reset: true) }
    }
}

// MARK: - The end

extension ConnectionState {
    /// The connection is not wanted: the problem is its only response.
    mutating func refuseAll(_ problem: Problem) { refuse(problem) }

    /// The server stops: what is in flight is answered, an idle connection has a moment to send what is on its way.
    mutating func drain() { isDraining = true }

    /// Ends the connection at once.
    mutating func abort() { close(reset: true) }

    /// Makes room for another connection, if this one is idle.
    mutating func evict() { if isIdle { close(reset: false) } }

    private mutating func close(reset: Bool) {
        guard phase != .closed else { return }
        let wasRunning = phase == .admitting || phase == .responding || phase == .streaming
        phase = .closed
        queued = [.close(reset: reset)]
        if let exchange {
            if wasRunning { queued.append(.cancel(exchange)) }
            finish(exchange)
        }
        while let exchange = firstSending {
            firstSending = exchange.following
            exchange.following = nil
            queued.append(.finished(exchange))
        }
        lastSending = nil
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
    /// When `timePassed` must be called at the latest.
    var nextDeadline: Instant? { deadlines.next }

    /// Derives the deadlines from the state. A deadline begins when its wait does, so that trickling bytes do not
    /// move it.
    ///
    /// - Parameter unacknowledged: the bytes that the system took and the peer has not acknowledged.
    mutating func settle(now: Instant, unacknowledged: @autoclosure () -> Int) {
        guard phase != .closed else { return }
        let wait = nextWait
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
        deadlines.watchReader(now: now, acknowledged: sent - unacknowledged(), for: rules.deadlines.write)
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
        if isHandshaking { return .handshake }
        return isDraining ? .idleDrain : .idle
    }

    /// Nil for a wait without a deadline of its own: the rate at which the client reads bounds it.
    private func deadline(of wait: ConnectionDeadlines.Wait, from now: Instant) -> Instant? {
        let deadlines = rules.deadlines
        return switch wait {
        case .handshake: now + deadlines.handshake
        case .idle: now + deadlines.idle
        case .idleDrain: now + deadlines.idleDrain
        case .head: now + deadlines.head
        // From the end of the head, whatever the connection waited for meanwhile.
        case .body: (exchange?.start ?? now) + deadlines.body
        case .memory: now + deadlines.memory
        case .handler, .producer: now + deadlines.handler
        case .halfClosed: now + deadlines.halfClosed
        case .linger: now + deadlines.linger
        case .reader: nil
        }
    }
}

extension RequestHead {
    /// Whether the body, as far as its length is known, is one of at most `length` bytes.
    fileprivate func hasBody(within length: Int) -> Bool {
        switch bodyFraming {
        case .none: true
        case .length(let bytes): bytes <= length
        case .chunked: length > 0
        }
    }
}

extension Exchange {
    /// The fields that the server adds to every response beside those of the protocol.
    fileprivate func writeOwnFields(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "X-Request-Id: ".utf8)
        requestID.write(to: &bytes)
        bytes.append(contentsOf: "\r\n".utf8)
    }
}

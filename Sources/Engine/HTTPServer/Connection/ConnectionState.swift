import HTTPApplication
import HTTPTypes
import HTTPWire

/// The decisions of one connection, as a value: events in, actions out. It has no socket, no clock and no task. Its
/// transitions stand in one file, because each phase limits what the others may do; what they need to know about input,
/// output and time are values of their own.
///
/// Each event is a function. After an event the driver performs what ``next()`` returns until it returns nil. Then it
/// calls ``updateDeadlines(now:unacknowledged:)`` and applies ``interest``, ``nextDeadline`` and the credit that it
/// still needs. Requests are served one after another, in order.
///
/// The phases, their timeouts (`Timeouts`) and their transitions:
///
/// - **receiving**: waits for the next request or reads it. Timeouts: `handshake` and `idle` before the first byte, or
///   `idleDrain` while draining; `head` from the first byte (408); `body` from the end of the head (408); `memory`
///   while it waits for credit (503), after which the time for the head or the body begins anew, once. A head leads to
///   *routing*, a complete request to *responding*. A malformed request gets its response and leads to *finishing*.
/// - **routing**: the driver finds the route at once; back to *receiving*.
/// - **admitting**: the body has not arrived and does not fit, or the client waits for `100 Continue`: the route checks
///   the head. Timeout: `handler` (503). Nothing is read. Admission leads back to *receiving*; a refusal is the
///   response and leads to *finishing*.
/// - **responding**: the handler runs. Timeouts: `handler` (503), `halfClosed` once the client has stopped sending. Up
///   to `heldBytesFree` are read ahead. The response leads to *receiving* or *finishing*, the head of a streamed
///   response to *streaming*.
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
/// interval, else the connection is reset. No request begins while `outputHighWatermarkBytes` or
/// `SendQueue.responsesMax` wait. A broken transport leads to *closed*.
struct ConnectionState: ~Copyable {
    typealias Instant = ContinuousClock.Instant

    /// An action that the driver must perform.
    enum Action {
        /// Read at most `bytesMax` bytes from the transport once, and report the result: `received`, `readWouldBlock`,
        /// `inputEnded` or `transportFailed`.
        case read(bytesMax: Int)
        /// Send `sending.output`, as much as the transport accepts, and report it: `sent` or `transportFailed`.
        case send
        /// Find the route of the request, and report it: `begin`.
        case route(RequestHead)
        /// Let the route check the head, and report `admitted`, or `respond` with the refusal.
        case admit(Exchange)
        /// Ask for memory for the request, or for a head if there is none yet, and report `granted` or `claimRefused`.
        case claim(bytes: Int, Exchange?)
        /// Run the handler, and report `respond`, or `beginStream` and what follows.
        case run(Exchange, RequestContent)
        /// Render the problem as the connection's last response, and report `respondLast`.
        indirect case refuse(Problem, Exchange?)
        /// Cancel the handler: its response is not needed any more.
        case cancel(Exchange)
        /// The exchange is over: notify the observer.
        case finished(Exchange, Outcome)
        /// The producer of the stream waits and may continue.
        case resumeStream
        /// Inform the peer that nothing more follows.
        case finishWriting
        /// Close the descriptor; `reset` tells the peer that the response is incomplete.
        case close(reset: Bool)
    }

    enum Phase {
        case receiving, routing, admitting, responding, streaming, refusing, finishing, lingering, closed
    }

    let rules: ConnectionRules
    private(set) var phase = Phase.receiving
    private(set) var intake: Intake
    var sending = SendQueue()
    private var deadlines = Deadlines()

    /// Whether the head of a request has arrived.
    private(set) var hasBegunRequest = false
    private var isHandshaking: Bool
    private var isDraining: Bool
    /// The request whose handler or check runs; it is cancelled if its response is not needed any more.
    private var running: Exchange?
    /// The response of a refusal, until the driver renders it.
    private var refusal: Problem?
    /// The end of the connection, until the driver closes the descriptor: whether with RST.
    private var closing: Bool?

    private var outcome = Outcome()
    private var stream: ResponseBodyEncoder?
    private var isStreamKeepAlive = false
    /// The producer waits until at most these bytes are unsent.
    private var streamResumesAt: Int?

    init(_ rules: ConnectionRules, isHandshaking: Bool = false, isDraining: Bool = false) {
        self.rules = rules
        self.isHandshaking = isHandshaking
        self.isDraining = isDraining
        intake = Intake(rules)
    }
}

// MARK: - What to do

extension ConnectionState {
    /// The next action; nil if there is nothing to do until the next event.
    mutating func next() -> Action? {
        if let cancelled = takeCancelled() { return .cancel(cancelled) }
        if phase == .closed { return nextOfClosed() }
        if phase == .refusing, let problem = refusal.take() { return .refuse(problem, intake.exchange) }
        if let sent = sending.popSent() { return .finished(sent.exchange, sent.outcome) }
        if let limit = streamResumesAt, sending.output.count <= limit { return resumeStream() }
        if phase == .receiving, let action = parse() { return action }
        if sending.canSend { return .send }
        if phase == .finishing, sending.isEmpty { return linger() }
        guard wantsInput, intake.takeRead() else { return nil }
        return .read(bytesMax: phase == .lingering ? .max : intake.room)
    }

    private mutating func nextOfClosed() -> Action? {
        if let reset = closing.take() { return .close(reset: reset) }
        if let sent = sending.pop() { return .finished(sent.exchange, sent.outcome) }
        return streamResumesAt == nil ? nil : resumeStream()
    }

    private mutating func resumeStream() -> Action {
        streamResumesAt = nil
        return .resumeStream
    }

    private mutating func linger() -> Action {
        phase = .lingering
        if intake.hasEnded { close(reset: false) }
        return .finishWriting
    }

    /// The request whose handler still runs although its response is not needed any more.
    private mutating func takeCancelled() -> Exchange? {
        switch phase {
        case .admitting, .responding, .streaming: nil
        case .receiving, .routing, .refusing, .finishing, .lingering, .closed: running.take()
        }
    }

    /// The readiness to poll the socket for.
    var interest: (readable: Bool, writable: Bool) { (wantsInput, !sending.isEmpty && phase != .closed) }

    /// Whether there is more to read that no poller reports: the driver must continue after the other connections'
    /// turn.
    var hasUnpolledInput: Bool { wantsInput && intake.hasUnpolledInput }

    /// Between requests, with no byte of the next one.
    var isIdle: Bool { isDispensable && intake.isIdle }

    /// Without a request: at most a part of a head has arrived.
    var isDispensable: Bool { phase == .receiving && sending.isEmpty && intake.exchange == nil }

    var wantsInput: Bool {
        switch phase {
        case .receiving, .routing, .responding, .streaming: intake.hasRoom
        case .admitting, .refusing, .finishing, .closed: false
        case .lingering: !intake.hasEnded
        }
    }

    /// Whether the request waits unread, so that only a hang-up would tell that its client has left.
    var waitsUnread: Bool { phase == .admitting || intake.need != nil }

    /// Whether the request can still become complete, if the client sends nothing after these bytes.
    func canComplete(with unreadByteCount: Int) -> Bool {
        guard phase != .closed, let expected = intake.expectedByteCount else { return true }
        return unreadByteCount >= expected
    }
}

// MARK: - From bytes to requests

extension ConnectionState {
    /// Parses requests from the input, unless too much output waits.
    private mutating func parse() -> Action? {
        if intake.exchange == nil, sending.isFull(rules) { return nil }
        do {
            while true {
                if intake.isBodyRefused { return run() }
                switch try intake.nextEvent() {
                case .head(let head):
                    phase = .routing
                    return .route(head)
                case .body(let bytes): intake.append(body: bytes)
                case .end: return run()
                case nil: return try needMore()
                }
            }
        } catch {
            return receivingFailed(error)
        }
    }

    private mutating func needMore() throws(WireError) -> Action? {
        guard !intake.hasEnded, intake.canParseOn else {
            // The end of the input counts only once everything before it is read: TLS may still hold input.
            try intake.finish()
            phase = .finishing
            return nil
        }
        switch intake.prepareToRead() {
        case nil: return nil
        case .admit(let exchange):
            phase = .admitting
            running = exchange
            return .admit(exchange)
        case .claim(let bytes): return .claim(bytes: bytes, intake.exchange)
        case .sendContinue:
            ResponseEncoder.encodeContinue(into: &sending.output.bytes)
            return nil
        }
    }

    /// For a body that is too large, the handler still runs: its 401 takes precedence over the 413. Any other error
    /// gets its response here. In both cases the rest of the input is not parsed as a request.
    private mutating func receivingFailed(_ error: WireError) -> Action? {
        guard error.reason == .bodyTooLarge, intake.exchange != nil else {
            refuse(Problem(error))
            return next()
        }
        intake.refuseBody()
        return run()
    }

    private mutating func run() -> Action? {
        phase = .responding
        running = intake.exchange
        return running.map { .run($0, intake.takeContent()) }
    }

    /// Starts the exchange of a `route` action; it has its target now.
    mutating func begin(_ exchange: Exchange) {
        guard phase == .routing else { return }
        hasBegunRequest = true
        outcome = Outcome()
        deadlines.headIsComplete()
        phase = .receiving
        intake.begin(exchange)
    }

    /// The route accepts the head, so the body is read.
    mutating func admitted(_ exchange: Exchange) {
        guard phase == .admitting, isCurrent(exchange) else { return }
        running = nil
        intake.admit()
        phase = .receiving
    }

    /// The memory of the `claim` action is granted.
    mutating func granted(_ bytes: Int) { intake.grant(bytes) }

    /// The memory of the `claim` action can never be granted.
    mutating func claimRefused() { refuse(.overloaded) }

    /// Gives up credit that the connection does not need any more.
    mutating func returnCredit() { intake.returnCredit() }
}

// MARK: - Events of the transport

/// The state of a transport after a call.
struct TransportStatus {
    /// The TLS handshake is not complete.
    var isHandshaking = false
    /// It holds bytes that the socket did not accept.
    var hasUnsentBytes = false
    /// The input that it holds and cannot return yet, because a record is not complete.
    var encryptedByteCount = 0
}

extension ConnectionState {
    /// The poller reports that there is something to read, or the driver continues reading.
    mutating func becameReadable() { intake.becameReadable() }

    mutating func becameWritable() { sending.becameWritable() }

    /// - Parameter hasMore: the transport holds more input, which no poller reports.
    mutating func received(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) {
        switch phase {
        case .receiving, .routing, .admitting, .responding, .streaming: intake.received(bytes, hasMore: hasMore)
        case .refusing, .finishing, .lingering, .closed: intake.dropped(hasMore: hasMore)
        }
    }

    mutating func readWouldBlock() { intake.readWouldBlock() }

    /// The client has stopped sending. It may still want its responses.
    mutating func inputEnded() {
        intake.ended()
        if phase == .lingering { close(reset: false) }
    }

    /// The transport accepted `count` bytes of the output.
    mutating func sent(_ count: Int) { sending.sent(count) }

    /// After each call of the transport.
    mutating func update(_ transport: TransportStatus) {
        isHandshaking = transport.isHandshaking
        intake.update(encryptedByteCount: transport.encryptedByteCount)
        sending.update(transportHasUnsentBytes: transport.hasUnsentBytes)
    }

    /// The transport failed, or the peer reset the connection.
    mutating func transportFailed() { close(reset: false) }
}

// MARK: - Responses

extension ConnectionState {
    /// Whether the exchange still waits for its response, or for the rest of it.
    func isCurrent(_ exchange: Exchange) -> Bool {
        guard intake.exchange === exchange else { return false }
        switch phase {
        case .admitting, .responding, .streaming: return true
        case .receiving, .routing, .refusing, .finishing, .lingering, .closed: return false
        }
    }

    /// Writes the whole response of the exchange, whose handler has ended.
    ///
    /// - Parameter date: the value of the field Date.
    /// - Throws: if the response cannot be encoded; a 500 goes out in its place.
    mutating func respond(
        to exchange: Exchange, with response: ServerResponse, date: [UInt8]
    ) throws(ResponseError) {
        guard isCurrent(exchange), phase != .streaming, let head = exchange.head else { return }
        running = nil
        // The rest of an unread body would be parsed as the next request.
        let canGoOn = phase == .responding && intake.canParseOn && !isDraining
        let encoder = ResponseEncoder(for: head, isKeepAlive: canGoOn)
        var isWhole = false
        defer { end(isKeepAlive: isWhole && encoder.isKeepAlive) }
        try write(response, to: exchange, by: encoder, date: date)
        isWhole = true
    }

    /// Writes the connection's last response. `exchange` is the current one, or a stand-in if the input was not a
    /// request.
    mutating func respondLast(
        to exchange: Exchange, with response: ServerResponse, date: [UInt8]
    ) throws(ResponseError) {
        guard phase == .refusing else { return }
        if intake.exchange == nil {
            outcome = Outcome()
            intake.begin(exchange)
        }
        defer { end(isKeepAlive: false) }
        let encoder = exchange.head.map { ResponseEncoder(for: $0, isKeepAlive: false) } ?? .closing
        try write(response, to: exchange, by: encoder, date: date)
    }

    private mutating func end(isKeepAlive: Bool) {
        finishExchange()
        phase = isKeepAlive ? .receiving : .finishing
        if !isKeepAlive { intake.close() }
    }

    /// The response is written, or never will be; the exchange ends once it is sent.
    private mutating func finishExchange() {
        outcome.requestBodyByteCount = intake.bodyByteCount
        if let exchange = intake.end() { sending.append(exchange, outcome) }
        deadlines.endWait()
    }

    private mutating func write(
        _ response: ServerResponse, to exchange: Exchange, by encoder: ResponseEncoder, date: [UInt8]
    ) throws(ResponseError) {
        let (body, isConstant): ([UInt8], Bool) =
            switch response.body {
            case .bytes(let bytes): (bytes, false)
            case .constant(let bytes): (bytes, true)
            case .none, .stream: ([], false)
            }
        do {
            let bodyFollows = try encoder.encodeHead(
                response.status, response.fields, bodyByteCount: body.count, date: date,
                more: { exchange.writeOwnFields(to: &$0) }, into: &sending.output.bytes)
            if bodyFollows { sending.output.append(body: body, isConstant: isConstant) }
            outcome.responseBodyByteCount = bodyFollows ? body.count : 0
            outcome.status = response.status
        } catch {
            outcome.status = .internalServerError
            try? ResponseEncoder.closing.encode(
                .internalServerError, body: Span(), date: date, more: { exchange.writeOwnFields(to: &$0) },
                into: &sending.output.bytes)
            throw error
        }
    }

    /// Ends the connection with a response, unless one has begun.
    private mutating func refuse(_ problem: Problem) {
        switch phase {
        case .receiving, .routing, .admitting, .responding:
            intake.dropBody()
            intake.withdrawClaim()
            phase = .refusing
            refusal = problem
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
    /// - Throws: if the head cannot be encoded; a 500 goes out in its place.
    mutating func beginStream(
        of exchange: Exchange, _ response: ServerResponse, date: [UInt8]
    ) throws(ResponseError) -> Bool {
        guard isCurrent(exchange), phase == .responding, let head = exchange.head else { return false }
        var encoder = ResponseEncoder(for: head, isKeepAlive: intake.canParseOn && !isDraining)
        do {
            stream = try encoder.encodeStream(
                response.status, response.fields, date: date, more: { exchange.writeOwnFields(to: &$0) },
                into: &sending.output.bytes)
        } catch {
            running = nil
            refuse(.internalError)
            throw error
        }
        outcome.status = response.status
        isStreamKeepAlive = encoder.isKeepAlive
        phase = .streaming
        return true
    }

    /// Writes a piece of the body.
    mutating func streamed(_ bytes: Span<UInt8>, of exchange: Exchange) {
        guard isCurrent(exchange), phase == .streaming else { return }
        outcome.responseBodyByteCount += bytes.count
        stream?.encode(bytes, into: &sending.output.bytes)
    }

    /// The producer wrote something, possibly not sent yet. Restarts its timeout.
    mutating func producerActed() { if deadlines.wait == .producer { deadlines.endWait() } }

    /// Whether the producer must wait for the reader, because `bytesMax` are unsent; `resumeStream` ends the wait, once
    /// half of that is sent.
    mutating func streamMustWait(_ exchange: Exchange, bytesMax: Int) -> Bool {
        let mustWait = isCurrent(exchange) && sending.output.count >= bytesMax
        streamResumesAt = mustWait ? bytesMax / 2 : nil
        return mustWait
    }

    mutating func endStream(of exchange: Exchange) {
        guard isCurrent(exchange), phase == .streaming else { return }
        running = nil
        stream?.encodeEnd(into: &sending.output.bytes)
        stream = nil
        end(isKeepAlive: isStreamKeepAlive && !isDraining)
    }

    /// Resets the connection: the missing end tells the client that the response is incomplete.
    mutating func failStream(of exchange: Exchange) {
        if isCurrent(exchange) { close(reset: true) }
    }
}

// MARK: - The end

extension ConnectionState {
    /// The server stops: requests in flight get their responses, and an idle connection may still send a request that
    /// is on its way, for `idleDrain`.
    mutating func drain() { isDraining = true }

    /// Ends the connection at once.
    mutating func abort() { close(reset: true) }

    /// Closes the connection if it has no request, to make room for another.
    mutating func closeIfDispensable() { if isDispensable { close(reset: false) } }

    private mutating func close(reset: Bool) {
        guard phase != .closed else { return }
        phase = .closed
        closing = reset
        refusal = nil
        finishExchange()
        stream = nil
        deadlines = Deadlines()
        intake.close()
        sending.output.discard()
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
        deadlines.update(wait, now: now, requestStart: intake.exchange?.start, rules.timeouts)
        if sending.isEmpty { deadlines.stopWatchingReader() } else { watchReader(now, unacknowledged()) }
    }

    mutating func timePassed(now: Instant, unacknowledged: @autoclosure () -> Int) {
        guard phase != .closed else { return }
        if let wait = deadlines.passedWait(now: now) { waitEnded(wait) }
        let sent = sending.output.sentTotal
        guard phase != .closed, let rate = deadlines.readingRate(now: now, acknowledged: sent - unacknowledged()) else {
            return
        }
        if rate < Double(rules.readBytesPerSecondMin) { close(reset: true) } else { watchReader(now, unacknowledged()) }
    }

    private mutating func watchReader(_ now: Instant, _ unacknowledged: @autoclosure () -> Int) {
        let sent = sending.output.sentTotal
        deadlines.watchReader(now: now, acknowledged: sent - unacknowledged(), for: rules.timeouts.write)
    }

    private mutating func waitEnded(_ wait: Deadlines.Wait) {
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

    /// What the connection waits for.
    private var wait: Deadlines.Wait {
        switch phase {
        case .receiving, .routing, .refusing: receivingWait
        case .admitting, .responding: intake.hasEnded ? .halfClosed : .handler
        case .streaming: sending.isEmpty ? .producer : .reader
        case .finishing, .closed: .reader
        case .lingering: .linger
        }
    }

    private var receivingWait: Deadlines.Wait {
        if intake.need != nil { return .memory }
        if intake.exchange != nil { return .body }
        if !sending.isEmpty { return .reader }
        switch intake.parser.phase {
        case .head, .body: return .head
        case .idle, .closed, .failed: break
        }
        if isDraining { return .idleDrain }
        return isHandshaking ? .handshake : .idle
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

import EventLoop
import HTTPTypes
import HTTPWire
import Logging

/// One client's connection: performs the actions that its ``ConnectionState`` decides, and decides nothing itself.
///
/// Used on its loop only. The handling of every event ends with `advance`.
final class HTTPConnection: ReadinessHandler, @unchecked Sendable {
    let context: LoopContext
    let address: SocketAddress
    let acceptedAt: ContinuousClock.Instant
    private let transport: any Transport
    private let onClose: (HTTPConnection) -> Void

    private var state: ConnectionState
    private var stream: ResponseStream?
    private var isAdvancing = false
    /// The bytes charged to the loop's memory budget.
    private var chargedByteCount = 0
    private var waitsForMemory = false

    private var watch: Watch?
    private var interest: Readiness = .readable
    private var timer: LoopTimer?
    private var timerDeadline: ContinuousClock.Instant?
    /// Its link in the loop's list of idle connections.
    var idleLink = IdleConnections.Link()

    init(
        _ transport: any Transport, address: SocketAddress, context: LoopContext,
        onClose: @escaping (HTTPConnection) -> Void
    ) {
        self.transport = transport
        self.address = address
        self.context = context
        self.onClose = onClose
        acceptedAt = context.loop.now
        state = ConnectionState(context.rules, isDraining: context.isDraining)
        state.isHandshaking = transport.isHandshaking
    }

    func start() {
        guard let watch = context.loop.watchIfPossible(transport.descriptor, for: .readable, handler: self) else {
            state.abort()
            return advance()
        }
        self.watch = watch
        updateInterestAndTimer()
    }

    func descriptorIsReady(_ readiness: Readiness) {
        if readiness.contains(.writable) { state.becameWritable() }
        if readiness.contains(.readable), state.wantsInput {
            state.becameReadable()
        } else if !readiness.isDisjoint(with: .failed) {
            // Without this a connection that is not read would be reported again in every round.
            state.transportFailed()
        }
        advance()
    }

    /// Ends the connection at once.
    func abort() {
        state.abort()
        advance()
    }

    /// The server stops.
    func drain() {
        state.drain()
        advance()
    }

    /// Closes the connection if it is idle, after reading what has arrived: a request may have come that the loop has
    /// not read yet.
    func evict() {
        if state.wantsInput { state.becameReadable() }
        advance()
        state.evict()
        advance()
    }

    /// The loop's memory budget has room again.
    func memoryIsAvailable() {
        waitsForMemory = false
        advance()
    }
}

// MARK: - Performing actions

extension HTTPConnection {
    private func advance() {
        guard !isAdvancing else { return }
        isAdvancing = true
        state.isMemoryShort = context.memory.isSpent
        while let action = state.next() { perform(action) }
        isAdvancing = false
        updateInterestAndTimer()
    }

    private func perform(_ action: ConnectionState.Action) {
        switch action {
        case .read(let bytesMax): read(bytesMax)
        case .send: send()
        case .route(let head): state.begin(route(head))
        case .admit(let exchange):
            context.handlers.start(.init(connection: self, exchange: exchange, isAdmission: true))
        case .run(let exchange): run(exchange)
        case .refuse(let problem, let exchange): refuse(problem, exchange)
        case .cancel(let exchange): exchange.cancel()
        case .finished(let exchange): context.observe(exchange)
        case .resumeStream: stream?.assumeIsolated { $0.resume() }
        case .reportUnsendable(let exchange, let error): context.report(error, of: exchange)
        case .finishWriting:
            transport.finishWriting()
            state.updateTransport(hasUnsentBytes: transport.hasUnsentBytes)
        case .close(let reset): close(reset: reset)
        }
    }

    private func read(_ bytesMax: Int) {
        let buffer = UnsafeMutableRawBufferPointer(rebasing: context.readBuffer.prefix(bytesMax))
        switch transport.read(into: buffer) {
        case .bytes(let count):
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            state.received(bytes, hasMore: transport.hasUnreadBytes)
        case .blocked: state.readWouldBlock()
        case .end: state.inputEnded()
        case .failed: return state.transportFailed()
        }
        state.updateTransport(hasUnsentBytes: transport.hasUnsentBytes)
        state.isHandshaking = transport.isHandshaking
    }

    private func send() {
        guard let count = state.output.withUnsentBytes({ transport.write($0) }) else { return state.transportFailed() }
        state.sent(count, transportHasUnsentBytes: transport.hasUnsentBytes)
        if let spent = state.releaseBuffer() { context.recycle(spent) }
    }

    private func close(reset: Bool) {
        if let watch { context.loop.unwatch(watch) }
        watch = nil
        timer?.unset()
        timer = nil
        transport.close(reset: reset)
        IdleConnections.remove(self)
        context.memory.charge(before: chargedByteCount, now: 0)
        chargedByteCount = 0
        if waitsForMemory { context.memory.stopWaiting(self) }
        onClose(self)
    }

    /// Applies the state's interest and deadlines to the poller and the timer.
    private func updateInterestAndTimer() {
        guard let watch else { return }
        let now = context.loop.now
        state.updateDeadlines(now: now, unacknowledged: transport.unacknowledgedByteCount)
        let wanted = state.interest
        let interest: Readiness =
            wanted.readable
            ? (wanted.writable ? [.readable, .writable] : .readable)
            : wanted.writable ? .writable : []
        if interest != self.interest {
            self.interest = interest
            context.loop.change(watch, to: interest)
        }
        // A timer that fires too early is set again; each request moves the deadline to a later time.
        if let deadline = state.nextDeadline, timerDeadline.map({ deadline < $0 }) ?? true { setTimer(deadline) }
        updateMemoryCharge()
        updateIdleList()
        if state.hasMoreToRead { readOnLater() }
    }

    private func setTimer(_ deadline: ContinuousClock.Instant) {
        timerDeadline = deadline
        if timer == nil { timer = context.loop.makeTimer { [weak self] in self?.timePassed() } }
        timer?.set(to: deadline)
    }

    private func timePassed() {
        timerDeadline = nil
        state.timePassed(now: context.loop.now, unacknowledged: transport.unacknowledgedByteCount)
        advance()
    }

    private func updateMemoryCharge() {
        let held = state.heldByteCount + transport.heldByteCount
        if held != chargedByteCount {
            let before = chargedByteCount
            chargedByteCount = held
            context.memory.charge(before: before, now: held)
        }
        if state.isMemoryShort, !waitsForMemory {
            waitsForMemory = true
            context.memory.wait(self)
        }
    }

    private func updateIdleList() {
        let isIdle = state.isIdle
        guard isIdle || idleLink.isLinked else { return }
        IdleConnections.remove(self)
        guard isIdle else { return }
        (state.hasBegunRequest ? context.idle : context.silent).append(self)
        transport.releaseBuffers()
    }

    private func readOnLater() {
        context.loop.execute { [weak self] in
            self?.state.becameReadable()
            self?.advance()
        }
    }
}

// MARK: - Requests

extension HTTPConnection {
    private func route(_ head: RequestHead) -> Exchange {
        let target: Exchange.Target =
            switch context.application.router.match(head) {
            case .endpoint(let endpoint, let captures): .endpoint(endpoint, captures: captures)
            case .options(let allow): .options(allow: allow)
            case .problem(let problem): .problem(problem)
            }
        return Exchange(
            head, requestID: head.bytes(of: .xRequestID).flatMap(RequestID.init) ?? context.makeRequestID(),
            target: target, clientAddress: context.clientAddress(head, peer: address.ip), start: context.loop.now)
    }

    private func run(_ exchange: Exchange) {
        switch exchange.target {
        case .endpoint(let endpoint, _):
            if let response = endpoint.constant { return respond(to: exchange, response) }
            context.handlers.start(.init(connection: self, exchange: exchange, isAdmission: false))
        case .options(let allow):
            let response = ServerResponse(.noContent, fields: [.allow: allow])
            respond(to: exchange, context.withOwnFields(response, for: exchange))
        case .problem(let problem): respond(to: exchange, context.render(problem, for: exchange))
        }
    }

    private func refuse(_ problem: Problem, _ known: Exchange?) {
        let exchange =
            known
            ?? Exchange(
                nil, requestID: context.makeRequestID(), target: .problem(problem), clientAddress: address.ip,
                start: context.loop.now)
        state.adoptBuffer(&context.spareOutput)
        state.respondLast(
            to: exchange, with: context.render(problem, for: exchange), date: context.date.value())
    }

    private func respond(to exchange: Exchange, _ response: ServerResponse) {
        // The handler may have run for long.
        state.isMemoryShort = context.memory.isSpent
        state.adoptBuffer(&context.spareOutput)
        state.respond(to: exchange, with: response, date: context.date.value())
    }

    /// Runs the call's handler, or the route's check of the head. Runs in a task of `HandlerTasks`.
    func perform(_ call: HandlerTasks.Call) async {
        let exchange = call.exchange
        guard state.isCurrent(exchange), let endpoint = exchange.endpoint else { return }
        let response =
            if call.isAdmission, let admit = endpoint.admit {
                await response(to: exchange, by: admit)
            } else {
                await response(to: exchange, by: endpoint.handler)
            }
        guard state.isCurrent(exchange) else { return }
        if call.isAdmission, response.status == .continue {
            state.admitted(exchange)
        } else if case .stream(let produce) = response.body {
            return await self.stream(response, to: exchange, by: produce)
        } else {
            respond(to: exchange, response)
        }
        advance()
    }

    private func response(to exchange: Exchange, by handler: Handler) async -> ServerResponse {
        let request = ServerRequest(exchange)
        do {
            return try await handler(request)
        } catch let problem as Problem {
            return context.render(problem, for: exchange)
        } catch let error as WireError {
            return context.render(Problem(error), for: exchange)
        } catch {
            // The error of a cancelled handler is not logged.
            if state.isCurrent(exchange) { context.logFailure(error, of: exchange) }
            return context.render(.internalError, for: exchange)
        }
    }
}

// MARK: - Streams

extension HTTPConnection {
    private func stream(
        _ response: ServerResponse, to exchange: Exchange, by produce: (ResponseBodyWriter) async throws -> Void
    ) async {
        state.adoptBuffer(&context.spareOutput)
        let hasBegun = state.beginStream(of: exchange, response, date: context.date.value())
        advance()
        guard hasBegun else { return }
        let stream = ResponseStream(self, exchange)
        self.stream = stream
        do {
            if exchange.head?.method != .head { try await produce(stream.writer) }
            try await stream.flush()
            state.endStream(of: exchange)
        } catch {
            if state.isCurrent(exchange) { context.logFailure(error, of: exchange) }
            state.failStream(of: exchange)
        }
        if self.stream === stream { self.stream = nil }
        advance()
    }

    /// Whether the exchange still waits for its response, or for the rest of it.
    func isCurrent(_ exchange: Exchange) -> Bool { state.isCurrent(exchange) }

    func producerActed(_ exchange: Exchange) { state.producerActed() }

    func send(chunk: Span<UInt8>, of exchange: Exchange) {
        state.adoptBuffer(&context.spareOutput)
        state.streamed(chunk, of: exchange)
        state.producerActed()
        advance()
    }

    /// Whether the producer must wait for the reader; `resume` of its stream ends the wait.
    func streamMustWait(_ exchange: Exchange) -> Bool { state.streamMustWait(exchange) }
}

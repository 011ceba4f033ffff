import Basics
import EventLoop
import HTTPApplication
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
    /// Whether the loop will continue reading.
    private var readsOnLater = false
    /// The task that runs the current handler.
    var task: UnsafeCurrentTask?

    /// The unsent bytes charged to the loop's memory.
    private var chargedByteCount = 0
    private var headLoan: MemoryBudget.Loan?
    private var bodyLoan: MemoryBudget.Loan?

    private var watch: Watch?
    private var interest: Readiness = .readable
    private var timer: LoopTimer?
    private var timerDeadline: ContinuousClock.Instant?
    /// The client has stopped sending while it was not read, and may still want its response.
    private var hasHungUp = false
    /// Its link in one of the loop's lists.
    var link = ConnectionList.Link()

    init(
        _ transport: any Transport, address: SocketAddress, context: LoopContext,
        onClose: @escaping (HTTPConnection) -> Void
    ) {
        self.transport = transport
        self.address = address
        self.context = context
        self.onClose = onClose
        acceptedAt = context.loop.now
        state = ConnectionState(
            context.rules, isHandshaking: transport.status.isHandshaking, isDraining: context.isDraining)
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
        } else if readiness.contains(.hungUp) {
            hasHungUp = true
            if !state.canComplete(with: transport.unreadByteCount) { state.transportFailed() }
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

    /// Closes the connection if it has no request, after reading what has arrived: a request may have come that the
    /// loop has not read yet.
    func closeIfDispensable() {
        if state.wantsInput { state.becameReadable() }
        advance()
        state.closeIfDispensable()
        advance()
    }

    /// The memory that the connection waited for is its own now.
    func claimWasGranted(_ claim: CreditQueue.Claim) {
        guard claim.isGranted, claim === headLoan?.claim || claim === bodyLoan?.claim else { return }
        state.granted(claim.bytes)
        advance()
    }
}

// MARK: - Performing actions

extension HTTPConnection {
    private func advance() {
        guard !isAdvancing else { return }
        isAdvancing = true
        while let action = state.next() { perform(action) }
        isAdvancing = false
        updateInterestAndTimer()
    }

    private func perform(_ action: ConnectionState.Action) {
        switch action {
        case .read(let bytesMax): read(bytesMax)
        case .send: send()
        case .route(let head):
            ConnectionList.remove(self)
            state.begin(route(head))
        case .admit(let exchange):
            context.handlers.start(.init(connection: self, exchange: exchange, content: nil))
        case .claim(let bytes, let exchange): claim(bytes, exchange)
        case .run(let exchange, let content): run(exchange, content)
        case .refuse(let problem, let exchange): refuse(problem, exchange)
        case .cancel: task?.cancel()
        case .finished(let exchange, let outcome): context.observe(exchange, outcome)
        case .resumeStream: stream?.assumeIsolated { $0.resume() }
        case .finishWriting:
            transport.finishWriting()
            state.update(transport.status)
        case .close(let reset): close(reset: reset)
        }
    }

    private func read(_ bytesMax: Int) {
        switch transport.read(into: context.readBuffer, bytesMax: bytesMax) {
        case .bytes(let count):
            let bytes = UnsafeRawBufferPointer(rebasing: context.readBuffer[..<count])
            state.received(bytes, hasMore: transport.hasUnreadBytes)
        case .blocked: state.readWouldBlock()
        case .end: state.inputEnded()
        case .failed: return state.transportFailed()
        }
        state.update(transport.status)
    }

    private func send() {
        let sent = state.sending.output.withUnsentBytes { transport.write($0, hasMore: $1) }
        guard let sent else { return state.transportFailed() }
        state.sent(sent)
        state.update(transport.status)
        if sent > 0 { ConnectionList.remove(self) }
        if let spent = state.sending.output.release() { context.recycle(spent) }
    }

    private func close(reset: Bool) {
        if let watch { context.loop.unwatch(watch) }
        watch = nil
        timer?.unset()
        timer = nil
        transport.close(reset: reset)
        ConnectionList.remove(self)
        context.memory.chargeUnsent(before: chargedByteCount, now: 0)
        chargedByteCount = 0
        for loan in [headLoan, bodyLoan] { if let loan { context.giveBack(loan) } }
        (headLoan, bodyLoan) = (nil, nil)
        onClose(self)
    }

    /// Applies the state's interest and deadlines to the poller and the timer.
    private func updateInterestAndTimer() {
        guard let watch else { return }
        let now = context.loop.now
        state.updateDeadlines(now: now, unacknowledged: transport.unacknowledgedByteCount)
        let wanted = state.interest
        var interest: Readiness =
            wanted.readable
            ? (wanted.writable ? [.readable, .writable] : .readable)
            : wanted.writable ? .writable : []
        if state.waitsUnread, !hasHungUp { interest.insert(.hungUp) }
        if interest != self.interest {
            self.interest = interest
            context.loop.change(watch, to: interest)
        }
        // Only an earlier deadline sets the timer. A timer that fires before a later deadline is set again.
        if let deadline = state.nextDeadline, timerDeadline.map({ deadline < $0 }) ?? true { setTimer(deadline) }
        updateLists()
        updateMemory()
        if state.hasUnpolledInput { readOnLater() }
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

    /// The memory for a request that its route has admitted is a caller's, any other a stranger's.
    private func claim(_ bytes: Int, _ exchange: Exchange?) {
        let party = exchange?.hasAdmission == true ? MemoryBudget.Party.caller : .stranger
        let address = exchange?.clientAddress ?? self.address.ip
        // That of the request before, if this one was pipelined.
        if let earlier = exchange == nil ? headLoan.take() : bodyLoan.take() { context.giveBack(earlier) }
        guard let claim = context.memory.claim(bytes, of: address, as: party, for: self) else {
            return state.claimRefused()
        }
        if exchange == nil { headLoan = .init(claim, party) } else { bodyLoan = .init(claim, party) }
        if claim.isGranted { state.granted(bytes) }
    }

    private func updateMemory() {
        state.returnCredit()
        if let loan = headLoan, state.intake.headCredit == 0, state.intake.need != .head {
            headLoan = nil
            context.giveBack(loan)
        }
        if let loan = bodyLoan, state.intake.bodyCredit == 0, state.intake.need != .body {
            bodyLoan = nil
            context.giveBack(loan)
        }
        let unsent = unsentByteCount
        if unsent != chargedByteCount {
            context.memory.chargeUnsent(before: chargedByteCount, now: unsent)
            chargedByteCount = unsent
            context.relieveMemory()
        }
    }

    /// The bytes that it holds for its client.
    private var unsentByteCount: Int { state.sending.heldByteCount + transport.unsentByteCount }

    /// A connection that is in the list which it belongs to keeps its place there: a client that sends a head byte by
    /// byte, or reads nothing, does not become the latest.
    private func updateLists() {
        let list: ConnectionList? =
            if state.isDispensable {
                state.hasBegunRequest ? context.idle : context.silent
            } else {
                unsentByteCount > context.rules.heldBytesFree ? context.memory.readers : nil
            }
        if list !== link.list {
            ConnectionList.remove(self)
            list?.append(self)
        }
        if state.isIdle { transport.releaseBuffers() }
    }

    private func readOnLater() {
        guard !readsOnLater else { return }
        readsOnLater = true
        context.loop.execute { [weak self] in
            guard let self else { return }
            readsOnLater = false
            state.becameReadable()
            advance()
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

    private func run(_ exchange: Exchange, _ content: RequestContent) {
        switch exchange.target {
        case .endpoint(let endpoint, _):
            if let response = endpoint.constant { return respond(to: exchange, response) }
            context.handlers.start(.init(connection: self, exchange: exchange, content: content))
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
        state.sending.output.adopt(&context.spareOutput)
        do throws(ResponseError) {
            try state.respondLast(
                to: exchange, with: context.render(problem, for: exchange), date: context.date.value())
        } catch { context.report(error, of: exchange) }
    }

    private func respond(to exchange: Exchange, _ response: ServerResponse) {
        state.sending.output.adopt(&context.spareOutput)
        do throws(ResponseError) {
            try state.respond(to: exchange, with: response, date: context.date.value())
        } catch { context.report(error, of: exchange) }
    }

    /// Runs the call's handler, or the route's check of the head. Runs in a task of `HandlerTasks`.
    func perform(_ call: HandlerTasks.Call) async {
        let exchange = call.exchange
        guard state.isCurrent(exchange), let endpoint = exchange.endpoint else { return }
        let response =
            if let content = call.content {
                await response(to: ServerRequest(exchange, content), exchange, by: endpoint.handler)
            } else {
                await response(to: ServerRequest(exchange, .bytes([])), exchange, by: endpoint.admit)
            }
        guard state.isCurrent(exchange) else { return }
        if call.content == nil, response.status == .continue {
            state.admitted(exchange)
        } else if case .stream(let produce) = response.body {
            return await self.stream(response, to: exchange, by: produce)
        } else {
            respond(to: exchange, response)
        }
        advance()
    }

    private func response(
        to request: ServerRequest, _ exchange: Exchange, by handler: Handler?
    ) async -> ServerResponse {
        do {
            return try await handler?(request) ?? ServerResponse(.continue)
        } catch let problem as Problem {
            return context.render(problem, for: exchange)
        } catch let error as WireError {
            return context.render(Problem(error), for: exchange)
        } catch {
            // The error of a cancelled handler is not logged.
            if state.isCurrent(exchange) { context.logFailure(error, of: exchange, hasBegun: false) }
            return context.render(.internalError, for: exchange)
        }
    }
}

// MARK: - Streams

extension HTTPConnection {
    private func stream(
        _ response: ServerResponse, to exchange: Exchange, by produce: (ResponseBodyWriter) async throws -> Void
    ) async {
        state.sending.output.adopt(&context.spareOutput)
        var hasBegun = false
        do throws(ResponseError) {
            hasBegun = try state.beginStream(of: exchange, response, date: context.date.value())
        } catch { context.report(error, of: exchange) }
        advance()
        guard hasBegun else { return }
        let stream = ResponseStream(self, exchange)
        self.stream = stream
        do {
            if exchange.head?.method != .head { try await produce(stream.writer) }
            try await stream.flush()
            state.endStream(of: exchange)
        } catch {
            if state.isCurrent(exchange) { context.logFailure(error, of: exchange, hasBegun: true) }
            state.failStream(of: exchange)
        }
        if self.stream === stream { self.stream = nil }
        advance()
    }

    /// Whether the exchange still waits for its response, or for the rest of it.
    func isCurrent(_ exchange: Exchange) -> Bool { state.isCurrent(exchange) }

    func producerActed(_ exchange: Exchange) { state.producerActed() }

    func send(chunk: Span<UInt8>, of exchange: Exchange) {
        state.sending.output.adopt(&context.spareOutput)
        state.streamed(chunk, of: exchange)
        state.producerActed()
        advance()
    }

    /// Whether the producer must wait for the reader; `resume` of its stream ends the wait.
    func streamMustWait(_ exchange: Exchange) -> Bool {
        let rules = context.rules
        return state.streamMustWait(
            exchange, bytesMax: context.memory.isUnsentHigh ? rules.heldBytesFree : rules.outputHighWatermarkBytes)
    }
}

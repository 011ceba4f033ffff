import HTTPTypes
import HTTPWire
import Logging

// From complete requests to answers.
extension HTTPConnection {
    /// Has the present request answered. Without a wait in its handler this is done on return.
    func respond() {
        guard let exchange else { return }
        phase = .responding
        switch exchange.answer {
        case .endpoint(let endpoint, let captures): call(endpoint, captures, exchange)
        case .options(let allow): finish(with: ServerResponse(.noContent, fields: [.allow: allow]))
        case .problem(let problem): finish(with: render(problem))
        }
    }

    private func call(_ endpoint: Endpoint, _ captures: [String], _ exchange: Exchange) {
        let request = ServerRequest(
            head: exchange.head, parameters: PathParameters(names: endpoint.captureNames, values: captures),
            requestID: exchange.requestID, remoteAddress: address, clientAddress: exchange.clientAddress,
            routePattern: endpoint.pattern,
            content: exchange.isBodyTooLarge ? .tooLarge : .complete(exchange.body))
        let number = exchangeNumber
        // The preference keeps what a handler leaves to nobody (a protocol's witness, a library's code) on the loop as
        // well.
        let task = Task.immediate(executorPreference: loop) { await self.run(endpoint, request, number) }
        if phase == .responding, exchangeNumber == number { self.exchange?.task = task }
    }

    private func run(_ endpoint: Endpoint, _ request: ServerRequest, _ number: UInt64) async {
        let response: ServerResponse
        do {
            response = try await endpoint.handler(request)
        } catch {
            response = self.response(to: error, request, number)
        }
        guard isCurrent(number) else { return }
        if case .stream(let produce) = response.body {
            await stream(response, produce, number)
        } else {
            finish(with: response)
        }
        advance()
    }

    /// Whether the request of this number still waits for its answer.
    func isCurrent(_ number: UInt64) -> Bool {
        phase == .responding && exchangeNumber == number
    }

    private func response(to error: any Error, _ request: ServerRequest, _ number: UInt64) -> ServerResponse {
        switch error {
        case let problem as Problem: return render(problem, request.requestID)
        case let error as WireError: return render(Problem(error), request.requestID)
        default:
            // A handler that was cancelled throws in vain.
            if isCurrent(number) { log(error, request) }
            return render(.internalError, request.requestID)
        }
    }

    private func log(_ error: any Error, _ request: ServerRequest) {
        context.logger.error(
            "handler failed",
            metadata: [
                "requestId": "\(request.requestID)", "route": "\(request.routePattern)", "error": "\(error)",
            ])
    }
}

// MARK: - Writing answers

extension HTTPConnection {
    func render(_ problem: Problem, _ requestID: RequestID? = nil) -> ServerResponse {
        context.application.renderProblem(problem, requestID ?? exchange?.requestID ?? context.makeRequestID())
    }

    /// Writes the whole answer of the present request.
    func finish(with response: ServerResponse) {
        guard let exchange else { return }
        let encoder = makeEncoder(exchange)
        let isKeepAlive = write(response, encoder, exchange.requestID) && encoder.isKeepAlive
        endExchange(isComplete: true)
        phase = isKeepAlive ? .receiving : .finishing
    }

    func makeEncoder(_ exchange: Exchange) -> ResponseEncoder {
        let isReadable = parser.phase != .failed && parser.phase != .closed
        return ResponseEncoder(answering: exchange.head, isKeepAlive: isReadable && !context.isDraining)
    }

    /// - Returns: false if the answer could not be put on the wire and a 500 went out in its place.
    private func write(_ response: ServerResponse, _ encoder: ResponseEncoder, _ requestID: RequestID) -> Bool {
        var fields = response.fields
        fields[.xRequestID] = requestID.description
        let date = context.date.value()
        takeOutputBuffer()
        do {
            switch response.body {
            case .bytes(let bytes):
                exchange?.responseBodyBytes = bytes.count
                try encoder.encode(response.status, fields, body: bytes.span, date: date, into: &output)
            case .none, .stream: try encoder.encode(response.status, fields, date: date, into: &output)
            }
            exchange?.status = response.status
            return true
        } catch {
            context.logger.error("answer cannot be sent", metadata: ["requestId": "\(requestID)", "error": "\(error)"])
            exchange?.status = .internalServerError
            try? ResponseEncoder.closing.encode(
                .internalServerError, [.xRequestID: requestID.description], date: date, into: &output)
            return false
        }
    }

    /// Answers what cannot be served and ends the connection.
    func refuse(_ problem: Problem) {
        guard phase == .receiving || phase == .responding else { return }
        let requestID = exchange?.requestID ?? context.makeRequestID()
        let encoder = exchange.map { ResponseEncoder(answering: $0.head, isKeepAlive: false) } ?? .closing
        _ = write(render(problem, requestID), encoder, requestID)
        if exchange == nil { observeRefusal(problem, requestID) }
        endExchange(isComplete: true)
        parser.close()
        phase = .finishing
    }

    /// The present request is over: its handler, if it still runs, runs in vain.
    func endExchange(isComplete: Bool) {
        guard let exchange else { return }
        exchange.task?.cancel()
        self.exchange = nil
        exchangeNumber += 1
        restartDeadline()
        observe(exchange, isComplete)
    }

    private func observe(_ exchange: Exchange, _ isComplete: Bool) {
        guard let observer = context.application.observer else { return }
        observer.didFinish(
            FinishedRequest(
                head: exchange.head, routePattern: exchange.routePattern, requestID: exchange.requestID,
                clientAddress: exchange.clientAddress, status: exchange.status,
                duration: .now - exchange.start, requestBodyBytes: exchange.bodyBytes,
                responseBodyBytes: exchange.responseBodyBytes, isComplete: isComplete))
    }

    private func observeRefusal(_ problem: Problem, _ requestID: RequestID) {
        context.application.observer?.didFinish(
            FinishedRequest(
                head: nil, routePattern: nil, requestID: requestID, clientAddress: address.ip, status: problem.status,
                duration: .zero, requestBodyBytes: 0, responseBodyBytes: 0, isComplete: true))
    }
}

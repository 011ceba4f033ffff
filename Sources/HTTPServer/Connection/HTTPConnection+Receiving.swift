import EventLoop
import HTTPWire

// From bytes to complete requests.
extension HTTPConnection {
    /// Takes what has arrived.
    func receive() {
        repeat {
            switch transport.read(into: context.readBuffer) {
            case .bytes(let count): take(UnsafeRawBufferPointer(rebasing: context.readBuffer[..<count]))
            case .blocked: return
            case .end: return endInput()
            case .failed: return close(reset: false)
            }
        } while transport.hasUnreadBytes && wantsInput
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        if phase == .lingering || phase == .finishing { return }
        parser.append(bytes)
    }

    private func endInput() {
        inputHasEnded = true
        if phase == .lingering { close(reset: false) }
    }

    /// Goes on as far as the client, the handler and the reader let it.
    func advance() {
        guard !isAdvancing else { return }
        isAdvancing = true
        while phase == .receiving, unsentByteCount < context.configuration.unsentBytesMax, step() {}
        isAdvancing = false
        flush()
        settle()
    }

    /// - Returns: whether there may be more to do.
    private func step() -> Bool {
        do {
            guard let event = try parser.nextEvent() else {
                if takeMore() { return true }
                return try finishInput()
            }
            switch event {
            case .head(let head): begin(head)
            case .body(let bytes): take(bytes)
            case .end: respond()
            }
            return true
        } catch {
            return receivingFailed(error)
        }
    }

    /// What the transport holds back is not announced by the poller.
    private func takeMore() -> Bool {
        guard transport.hasUnreadBytes, wantsInput else { return false }
        let count = parser.unreadByteCount
        receive()
        return parser.unreadByteCount > count && phase == .receiving
    }

    /// Nothing more can be taken from what has arrived.
    private func finishInput() throws(WireError) -> Bool {
        guard phase == .receiving, inputHasEnded || parser.phase == .closed else { return false }
        try parser.finish()
        phase = .finishing
        return false
    }

    /// A body beyond its limit goes to the handler as such, which may have something to say before; anything else is
    /// answered by the protocol. Either way nothing behind it is read as a request.
    private func receivingFailed(_ error: WireError) -> Bool {
        guard error.reason == .bodyTooLarge, exchange != nil else {
            refuse(Problem(error))
            return false
        }
        exchange?.isBodyTooLarge = true
        respond()
        return true
    }

    private func begin(_ head: RequestHead) {
        let requestID = head.bytes(of: .xRequestID).flatMap(RequestID.init) ?? context.makeRequestID()
        let client =
            context.configuration.trustedProxies.isEmpty
            ? address.ip
            : context.configuration.clientAddress(head, peer: address.ip)
        exchange = Exchange(
            head, requestID: requestID, answer: answer(to: head), clientAddress: client, start: loop.now)
        exchangeNumber += 1
        if head.bodyFraming != .none { prepareBody(head) }
    }

    private func answer(to head: RequestHead) -> Exchange.Answer {
        switch context.application.router.match(head) {
        case .endpoint(let endpoint, let captures): .endpoint(endpoint, captures: captures)
        case .options(let allow): .options(allow: allow)
        case .problem(let problem): .problem(problem)
        }
    }

    /// A client that waits for a word before it sends a body that is not wanted gets the answer instead of the word;
    /// one that does not wait may send a short one in vain.
    private func prepareBody(_ head: RequestHead) {
        let wanted = exchange?.bodyBytesMax ?? 0
        guard head.expectsContinue else {
            parser.bodyBytesMax = max(wanted, context.configuration.droppedBodyBytesMax)
            return
        }
        parser.bodyBytesMax = wanted
        if head.hasBody(within: wanted) {
            ResponseEncoder.encodeContinue(into: &output)
        } else {
            parser.close()
            exchange?.isBodyTooLarge = true
            respond()
        }
    }

    private func take(_ bytes: ArraySlice<UInt8>) {
        guard let exchange else { return }
        exchange.bodyBytes += bytes.count
        if exchange.bodyBytes > exchange.bodyBytesMax {
            exchange.isBodyTooLarge = true
            exchange.body = []
        } else {
            exchange.body.append(contentsOf: bytes)
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

import EventLoop
import HTTPWire

/// One client's connection: takes its requests one after another, in order, and writes their answers.
///
/// An actor on its loop. Whatever happens (bytes arrive, a handler answers, a deadline passes) ends with `settle`,
/// which derives from the state what to wait for next: what to poll the socket for, and until when.
actor HTTPConnection: ReadinessHandler {
    /// What the connection is at. While receiving, the parser knows more.
    enum Phase {
        case receiving
        /// A request is with its handler, or its answer is being streamed.
        case responding
        /// The last answer is given; it is being sent.
        case finishing
        /// All is sent; what the client still sends is dropped until it closes.
        case lingering
        case closed
    }

    /// What the connection waits for, each with a deadline of its own.
    enum Wait {
        case handshake, idle, head, body, handler, halfClosed, reader, linger, idleDrain
    }

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    nonisolated let address: SocketAddress

    let context: LoopContext
    let transport: any Transport
    private let onClose: @Sendable (HTTPConnection) -> Void

    var parser: RequestParser
    var phase = Phase.receiving
    var exchange: Exchange?
    /// Counts the requests: tells a handler that its request is over.
    var exchangeNumber: UInt64 = 0
    var isAdvancing = false
    /// The client sends no more.
    var inputHasEnded = false

    /// Answers that the transport has not taken yet, from `outputStart` on.
    var output: [UInt8] = []
    var outputStart = 0
    /// Pieces of a streamed answer, collected until they are worth a chunk.
    var streamed: [UInt8] = []
    var streamWaiter: CheckedContinuation<Void, Never>?

    private var watch: Watch?
    private var interest: Readiness = .readable
    private var timer: LoopTimer?
    private var wait: Wait?
    private var writeTimer: LoopTimer?
    private var isWriteTimerSet = false

    init(
        _ transport: sending any Transport, address: SocketAddress, context: LoopContext,
        onClose: @escaping @Sendable (HTTPConnection) -> Void
    ) {
        self.loop = context.loop
        self.transport = transport
        self.address = address
        self.context = context
        self.onClose = onClose
        self.parser = RequestParser(limits: context.configuration.wireLimits)
    }

    /// - Parameter problem: the answer of a connection that is not wanted.
    func start(refusing problem: Problem?) {
        watch = loop.watch(transport.descriptor, for: .readable, handler: self)
        timer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.deadlinePassed() } }
        if let problem { refuse(problem) }
        settle()
    }

    nonisolated func descriptorIsReady(_ readiness: Readiness) {
        assumeIsolated { $0.ready(readiness) }
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        if readiness.contains(.readable) {
            receive()
        } else if !readiness.isDisjoint(with: .failed) {
            close(reset: false)
        }
        advance()
    }

    /// Ends the connection at once.
    func abort() { close(reset: true) }

    /// The server stops: what is in flight is answered, an idle connection has a moment to send what is on its way.
    func drain() { advance() }

    func close(reset: Bool) {
        guard phase != .closed else { return }
        phase = .closed
        endExchange(isComplete: false)
        if let watch { loop.unwatch(watch) }
        timer?.unset()
        writeTimer?.unset()
        (timer, writeTimer) = (nil, nil)
        transport.close(reset: reset)
        parser.close()
        output = []
        wakeStream()
        onClose(self)
    }
}

// MARK: - What to wait for

extension HTTPConnection {
    /// Derives from the state what to wait for. Everything that happens to the connection ends here.
    func settle() {
        guard phase != .closed else { return }
        if phase == .finishing, !hasOutput { return linger() }
        settleInterest()
        settleDeadline()
        settleWriteDeadline()
    }

    private func settleInterest() {
        var wanted: Readiness = wantsInput ? .readable : []
        if hasOutput { wanted.insert(.writable) }
        guard wanted != interest, let watch else { return }
        interest = wanted
        loop.change(watch, to: wanted)
    }

    /// Whether to read on: unread input is limited, TCP makes the client wait.
    var wantsInput: Bool {
        guard !inputHasEnded else { return false }
        switch phase {
        case .receiving, .responding: return parser.unreadByteCount < context.configuration.unreadBytesMax
        case .finishing: return false
        case .lingering: return true
        case .closed: return false
        }
    }

    /// A deadline begins when its wait does, so that trickling bytes do not move it.
    private func settleDeadline() {
        let next = nextWait
        guard next != wait else { return }
        wait = next
        guard let delay = delay(of: next) else { return timer?.unset() ?? () }
        timer?.set(after: delay)
    }

    private var nextWait: Wait {
        switch phase {
        case .receiving: receivingWait
        case .responding: exchange?.stream != nil ? .reader : inputHasEnded ? .halfClosed : .handler
        case .finishing, .closed: .reader
        case .lingering: .linger
        }
    }

    private var receivingWait: Wait {
        if exchange != nil { return .body }
        if hasOutput { return .reader }
        switch parser.phase {
        case .head, .body: return .head
        case .idle, .closed, .failed: break
        }
        if transport.isHandshaking { return .handshake }
        return context.isDraining ? .idleDrain : .idle
    }

    /// Nil for what has no deadline of its own: the write deadline watches over it.
    private func delay(of wait: Wait) -> Duration? {
        let deadlines = context.configuration.deadlines
        return switch wait {
        case .handshake: deadlines.handshake
        case .idle: deadlines.idle
        case .head: deadlines.head
        case .body: deadlines.body
        case .handler: deadlines.handler
        case .halfClosed: deadlines.halfClosed
        case .linger: deadlines.linger
        case .idleDrain: deadlines.idleDrain
        case .reader: nil
        }
    }

    /// A new request has the whole time again.
    func restartDeadline() { wait = nil }

    private func deadlinePassed() {
        let passed = wait
        wait = nil
        switch passed {
        case .head: refuse(.headTimeout)
        case .body: refuse(.bodyTimeout)
        case .handler: refuse(.handlerTimeout)
        case .handshake, .idle, .halfClosed, .linger, .idleDrain: close(reset: false)
        case .reader, nil: break
        }
        flush()
        settle()
    }

    private func settleWriteDeadline() {
        guard hasOutput != isWriteTimerSet else { return }
        isWriteTimerSet = hasOutput
        guard hasOutput else { return writeTimer?.unset() ?? () }
        restartWriteDeadline()
    }

    /// A slow reader lives as long as it takes something.
    func restartWriteDeadline() {
        if writeTimer == nil {
            writeTimer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.close(reset: true) } }
        }
        writeTimer?.set(after: context.configuration.deadlines.write)
    }
}

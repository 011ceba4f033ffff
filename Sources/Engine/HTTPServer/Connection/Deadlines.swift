/// The deadlines of one connection, as a value: its current wait, the end of that wait, and the client's reading rate.
/// The caller passes the time in.
struct Deadlines {
    typealias Instant = ContinuousClock.Instant

    /// The events for which a connection waits. Each wait has its own deadline.
    enum Wait {
        case handshake, idle, idleDrain, head, body, memory, handler, halfClosed, producer, reader, linger
    }

    /// An interval over which the client's reading rate is measured.
    private struct ReadingWindow {
        let start: Instant
        let end: Instant
        /// The bytes that the client had acknowledged at the start.
        let acknowledged: Int
    }

    private(set) var wait: Wait?
    private var end: Instant?
    private var window: ReadingWindow?
    /// When the first byte of the current head was there; nil if no head is being read.
    private var headStart: Instant?

    /// The earlier of the two deadlines.
    var next: Instant? {
        guard let end else { return window?.end }
        return window.map { min($0.end, end) } ?? end
    }

    /// Begins the wait, unless it is the current one.
    ///
    /// - Parameter requestStart: the end of the current request's head; nil if there is no request.
    mutating func update(
        _ wait: Wait, now: Instant, requestStart: Instant?, _ timeouts: HTTPServerConfiguration.Timeouts
    ) {
        guard wait != self.wait else { return }
        let hasWaitedForMemory = self.wait == .memory
        if wait == .head { headStart = hasWaitedForMemory ? now : headStart ?? now }
        self.wait = wait
        end =
            switch wait {
            case .handshake: now + timeouts.handshake
            case .idle: now + timeouts.idle
            case .idleDrain: now + timeouts.idleDrain
            // These two are counted from the first byte and from the end of the head, or from when memory was granted.
            case .head: (headStart ?? now) + timeouts.head
            case .body: (hasWaitedForMemory ? now : requestStart ?? now) + timeouts.body
            case .memory: now + timeouts.memory
            case .handler, .producer: now + timeouts.handler
            case .halfClosed: now + timeouts.halfClosed
            case .linger: now + timeouts.linger
            // Bounded by the client's reading rate only.
            case .reader: nil
            }
    }

    mutating func headIsComplete() { headStart = nil }

    /// Ends the current wait. The next wait starts a new deadline, even if it is of the same kind.
    mutating func endWait() { wait = nil }

    /// Returns and ends the wait whose deadline has passed.
    mutating func passedWait(now: Instant) -> Wait? {
        guard let end, end <= now else { return nil }
        self.end = nil
        return wait.take()
    }

    /// Starts to measure the client's reading rate, because bytes wait for it.
    ///
    /// - Parameters:
    ///   - acknowledged: the bytes that the client has acknowledged so far.
    ///   - duration: the length of a window.
    mutating func watchReader(now: Instant, acknowledged: @autoclosure () -> Int, for duration: Duration) {
        guard window == nil else { return }
        window = ReadingWindow(start: now, end: now + duration, acknowledged: acknowledged())
    }

    mutating func stopWatchingReader() { window = nil }

    /// The bytes a second that the client read in the window that ends now; nil if no window ends now.
    mutating func readingRate(now: Instant, acknowledged: @autoclosure () -> Int) -> Double? {
        guard let window, window.end <= now else { return nil }
        self.window = nil
        return Double(acknowledged() - window.acknowledged) / ((now - window.start) / .seconds(1))
    }
}

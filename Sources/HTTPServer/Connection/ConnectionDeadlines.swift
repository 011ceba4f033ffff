/// The deadlines of one connection, as a value: what it waits for and until when, and how fast its client reads. Time
/// is passed in.
struct ConnectionDeadlines {
    typealias Instant = ContinuousClock.Instant

    /// What a connection waits for, each with a deadline of its own.
    enum Wait {
        case handshake, idle, idleDrain, head, body, memory, handler, halfClosed, producer, reader, linger
    }

    /// An interval in which the client has to read some of the bytes that wait for it.
    private struct ReadingWindow {
        let start: Instant
        let end: Instant
        /// The bytes that the client had acknowledged at the start.
        let acknowledged: Int
    }

    private(set) var wait: Wait?
    private var end: Instant?
    private var window: ReadingWindow?

    /// When the first of them passes.
    var next: Instant? {
        guard let end else { return window?.end }
        return window.map { min($0.end, end) } ?? end
    }

    /// - Parameter end: nil if the wait has no deadline of its own.
    mutating func begin(_ wait: Wait, until end: Instant?) {
        self.wait = wait
        self.end = end
    }

    /// The present wait is over. The next one begins anew, even if it is for the same.
    mutating func endWait() { wait = nil }

    /// The wait whose deadline has passed, once.
    mutating func passedWait(now: Instant) -> Wait? {
        guard let end, end <= now else { return nil }
        self.end = nil
        return wait.take()
    }

    /// Bytes wait for the client.
    ///
    /// - Parameters:
    ///   - acknowledged: the bytes that the client has acknowledged until now.
    ///   - duration: of a window.
    mutating func watchReader(now: Instant, acknowledged: @autoclosure () -> Int, for duration: Duration) {
        guard window == nil else { return }
        window = ReadingWindow(start: now, end: now + duration, acknowledged: acknowledged())
    }

    mutating func stopWatchingReader() { window = nil }

    /// How many bytes a second the client has read in the window that ends now; nil while none ends.
    mutating func readingRate(now: Instant, acknowledged: @autoclosure () -> Int) -> Double? {
        guard let window, window.end <= now else { return nil }
        self.window = nil
        return Double(acknowledged() - window.acknowledged) / ((now - window.start) / .seconds(1))
    }
}

import Basics
import Foundation
import Glibc
public import Logging

/// The destination of log lines: a file descriptor, usually standard error.
///
/// A dedicated thread writes the lines in order, so only that thread waits for the reader. Lines wait in a queue of at
/// most `queueBytesMax`, and those of a frequent writer in its own (``LogLane``). If a queue is full, new lines are
/// dropped and counted, and a separate line reports them as soon as there is room.
public final class LogOutput: @unchecked Sendable {
    /// The size of the queue: some thousand lines, which a busy service writes in a fraction of a second.
    public static let queueBytesMax = 1024 * 1024
    /// How long the thread collects lines before it writes them together. Otherwise each line would wake it.
    private static let gatherMicroseconds: useconds_t = 5_000
    /// How long the exit of the process waits for the last lines.
    private static let exitWait = Duration.seconds(1)

    /// Standard error. At exit the process waits for its last lines, a second at most.
    public static let standardError: LogOutput = {
        atexit { _ = LogOutput.standardError.flush(within: LogOutput.exitWait) }
        return LogOutput(descriptor: STDERR_FILENO)
    }()

    /// Not owned: it must stay open as long as the process.
    public let descriptor: CInt

    private let condition = NSCondition()
    private var queue: [UInt8] = []
    private var lanes: [LogLane] = []
    /// A lane has lines that the thread has not taken yet.
    private var hasLines = false
    private var isThreadStarted = false
    /// The thread waits for lines.
    private var isThreadWaiting = false
    /// The thread has taken lines from the queue and not written them yet.
    private var isWriting = false
    private var dropped = 0
    private var unreportedDrops = 0
    private var format = LogFormat.json

    /// The first line starts the thread, which never ends and retains the output.
    public init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    /// By isatty(3). Decides whether `TextLogHandler` uses colour.
    public var isTerminal: Bool { isatty(descriptor) == 1 }

    /// The number of lines dropped so far because the queue was full or the descriptor was broken.
    public var droppedLineCount: Int { condition.withLock { dropped } }

    /// Sets the format of the line that reports drops.
    func use(_ format: LogFormat) { condition.withLock { self.format = format } }

    /// A queue for a writer of many lines.
    func makeLane() -> LogLane {
        let lane = LogLane(self)
        condition.withLock { lanes.append(lane) }
        return lane
    }

    /// Queues a line, which must end with a line feed. Never blocks.
    func write(_ line: [UInt8]) {
        condition.lock()
        defer { condition.unlock() }
        guard queue.count + line.count <= Self.queueBytesMax else { return countDrop() }
        queue.append(contentsOf: line)
        wakeThread()
    }

    /// A lane has lines for the thread.
    fileprivate func laneHasLines() {
        condition.withLock {
            hasLines = true
            wakeThread()
        }
    }

    fileprivate func laneIsFull() { condition.withLock { countDrop() } }

    private func countDrop() {
        dropped += 1
        unreportedDrops += 1
    }

    private func wakeThread() {
        if isThreadWaiting {
            isThreadWaiting = false
            condition.signal()
        } else if !isThreadStarted {
            isThreadStarted = true
            let thread = Thread { [self] in run() }
            thread.name = "log"
            thread.start()
        }
    }

    /// Waits until all lines are written, or until `limit` has passed. It blocks, so do not call it on an event loop.
    ///
    /// - Returns: whether all lines are written.
    @discardableResult public func flush(within limit: Duration) -> Bool {
        let end = ContinuousClock.now + limit
        while !isIdle {
            guard ContinuousClock.now < end else { return false }
            usleep(1_000)
        }
        return true
    }

    private var isIdle: Bool { condition.withLock { queue.isEmpty && !hasLines && !isWriting } }
}

/// The lines of one writer, such as the access log of an event loop: their order is kept, and writers do not wait for
/// each other.
final class LogLane: Sendable {
    private let lines = Locked<[UInt8]>([])
    private let output: LogOutput

    fileprivate init(_ output: LogOutput) { self.output = output }

    /// Queues a line, which must end with a line feed. Never blocks.
    func write(_ line: [UInt8]) {
        let before: Int? = lines.withLock { lines in
            guard lines.count + line.count <= LogOutput.queueBytesMax else { return nil }
            defer { lines.append(contentsOf: line) }
            return lines.count
        }
        switch before {
        case nil: output.laneIsFull()
        case 0?: output.laneHasLines()
        default: break
        }
    }

    fileprivate func move(to batch: inout [UInt8]) {
        batch += lines.withLock { lines in
            defer { lines.removeAll(keepingCapacity: true) }
            return lines
        }
    }
}

// MARK: - The thread

extension LogOutput {
    private func run() {
        var batch: [UInt8] = []
        while true {
            waitForLines()
            usleep(Self.gatherMicroseconds)
            moveLines(to: &batch)
            let written = writeAll(batch)
            let lost = batch[written...].count { $0 == UInt8(ascii: "\n") }
            condition.withLock {
                isWriting = false
                dropped += lost
                unreportedDrops += lost
            }
            batch.removeAll(keepingCapacity: true)
        }
    }

    private func waitForLines() {
        condition.lock()
        defer { condition.unlock() }
        while queue.isEmpty, !hasLines {
            isThreadWaiting = true
            condition.wait()
        }
        isThreadWaiting = false
        isWriting = true
    }

    /// Moves all lines to `batch`, followed by a report if lines were dropped.
    private func moveLines(to batch: inout [UInt8]) {
        condition.lock()
        defer { condition.unlock() }
        swap(&batch, &queue)
        if hasLines {
            hasLines = false
            for lane in lanes { lane.move(to: &batch) }
        }
        if unreportedDrops > 0 { batch += dropReport }
        unreportedDrops = 0
    }

    private var dropReport: [UInt8] {
        let event = LogEvent(
            level: .warning, message: "log lines were dropped: the reader of the log is too slow", error: nil,
            metadata: ["count": .stringConvertible(unreportedDrops), "total": .stringConvertible(dropped)],
            source: "Telemetry", file: #fileID, function: #function, line: #line)
        return switch format {
        case .json: JSONLogHandler(label: "log", output: self).render(event, at: .now)
        case .text: TextLogHandler(label: "log", output: self, usesColor: false).render(event, at: .now)
        }
    }

    /// - Returns: the number of bytes written; fewer than all if the descriptor is broken.
    private func writeAll(_ bytes: [UInt8]) -> Int {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written)
            }
            if count > 0 {
                written += count
            } else if count < 0, errno == EAGAIN {
                waitUntilWritable()
            } else if count == 0 || errno != EINTR {
                return written
            }
        }
        return written
    }

    /// For a non-blocking descriptor, which standard error may be.
    private func waitUntilWritable() {
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&polled, 1, -1)
    }
}

/// The format of log lines.
public enum LogFormat: String, Sendable, CaseIterable {
    /// For people at a terminal.
    case text
    /// For machines: a JSON object on each line.
    case json

    /// The longest message or metadata value of a line, in encoded bytes: a page of text. A longer value is client
    /// input or a dump.
    public static let valueBytesDefault = 4_096

    /// Text if standard error is a terminal, else JSON.
    public static var standard: LogFormat { isatty(STDERR_FILENO) == 1 ? .text : .json }

    /// A handler of this format for `LoggingSystem.bootstrap`.
    public func makeHandler(label: String, level: Logger.Level = .info) -> any LogHandler {
        LogOutput.standardError.use(self)
        var handler: any LogHandler =
            switch self {
            case .text: TextLogHandler(label: label)
            case .json: JSONLogHandler(label: label)
            }
        handler.logLevel = level
        return handler
    }
}

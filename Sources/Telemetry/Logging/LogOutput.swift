import Foundation
import Glibc
import Logging

/// Where log lines go: a file descriptor that stays open, standard error as a rule.
///
/// A thread of its own writes them, in order, and it alone waits for the reader of the descriptor. Lines wait in a
/// queue of at most `queueBytesMax`; those that find it full are dropped, counted, and reported in a line of their
/// own as soon as there is room.
public final class LogOutput: @unchecked Sendable {
    /// The lines that wait: some thousand, a fraction of a second of a busy service's.
    public static let queueBytesMax = 1024 * 1024
    /// How long the thread gathers lines before it writes them together: it would be woken for each otherwise.
    private static let gatherMicroseconds: useconds_t = 5_000
    /// How long the end of the process waits for the last lines.
    private static let exitWait = Duration.seconds(1)

    /// Its last lines are waited for at the end of the process, for a second at most.
    public static let standardError: LogOutput = {
        atexit { _ = LogOutput.standardError.flush(within: LogOutput.exitWait) }
        return LogOutput(descriptor: STDERR_FILENO)
    }()

    public let descriptor: CInt

    private let condition = NSCondition()
    private var queue: [UInt8] = []
    private var isThreadStarted = false
    /// The thread waits for lines.
    private var isThreadWaiting = false
    /// The thread has taken lines that are not written yet.
    private var isWriting = false
    private var dropped = 0
    private var unreportedDrops = 0
    private var format = LogFormat.json

    public init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    public var isTerminal: Bool { isatty(descriptor) == 1 }

    /// The lines that were dropped so far, because the queue was full or the descriptor is broken.
    public var droppedLineCount: Int { condition.withLock { dropped } }

    /// How the line looks that reports drops.
    func use(_ format: LogFormat) { condition.withLock { self.format = format } }

    /// Queues a line, which ends with a line feed. Never waits.
    func write(_ line: [UInt8]) {
        condition.lock()
        defer { condition.unlock() }
        guard queue.count + line.count <= Self.queueBytesMax else {
            dropped += 1
            unreportedDrops += 1
            return
        }
        queue.append(contentsOf: line)
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

    /// Waits until all lines are written, or the time is over.
    ///
    /// - Returns: whether all are written.
    @discardableResult public func flush(within limit: Duration) -> Bool {
        let end = ContinuousClock.now + limit
        while !isIdle {
            guard ContinuousClock.now < end else { return false }
            usleep(1_000)
        }
        return true
    }

    private var isIdle: Bool { condition.withLock { queue.isEmpty && !isWriting } }
}

// MARK: - The thread

extension LogOutput {
    private func run() {
        var batch: [UInt8] = []
        while true {
            waitForLines()
            usleep(Self.gatherMicroseconds)
            take(&batch)
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
        while queue.isEmpty {
            isThreadWaiting = true
            condition.wait()
        }
        isThreadWaiting = false
        isWriting = true
    }

    /// Takes all lines, and behind them one about those that were dropped since.
    private func take(_ batch: inout [UInt8]) {
        condition.lock()
        defer { condition.unlock() }
        swap(&batch, &queue)
        if unreportedDrops > 0 { batch += dropReport }
        unreportedDrops = 0
    }

    private var dropReport: [UInt8] {
        let event = LogEvent(
            level: .warning, message: "log lines were dropped: they came faster than they are read", error: nil,
            metadata: ["count": .stringConvertible(unreportedDrops), "total": .stringConvertible(dropped)],
            source: "Telemetry", file: #fileID, function: #function, line: #line)
        return switch format {
        case .json: JSONLogHandler(label: "log", output: self).render(event, at: .now)
        case .text: TextLogHandler(label: "log", output: self, usesColor: false).render(event, at: .now)
        }
    }

    /// - Returns: how many bytes could be written; fewer than all if the descriptor is broken.
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

    /// For a descriptor that does not block, as standard error may be one.
    private func waitUntilWritable() {
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&polled, 1, -1)
    }
}

import Glibc

/// Where log lines go: a file descriptor that stays open, standard error as a rule.
public struct LogOutput: Sendable {
    public static let standardError = LogOutput(descriptor: STDERR_FILENO)

    public let descriptor: CInt

    public init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    public var isTerminal: Bool { isatty(descriptor) == 1 }

    /// Writes a line with one write(2), so that lines of several threads do not mix; only what the system did not take
    /// at once is written after it. A line that cannot be written is lost: there is no place to say so.
    ///
    /// It waits while whoever reads the descriptor is slow, as long as the descriptor blocks.
    func write(_ line: [UInt8]) {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

import Basics
import Foundation

/// A progress line on standard error, updated about once a second. If that is not a terminal, only the last line is
/// written.
final class FillProgress: Sendable {
    private let what: String
    private let total: Int
    private let start = ContinuousClock.now
    private let state = Locked((done: 0, shownAt: ContinuousClock.now))

    init(_ what: String, of total: Int) {
        self.what = what
        self.total = total
    }

    func show(_ done: Int) {
        let isDue = state.withLock { state in
            state.done = done
            guard ContinuousClock.now - state.shownAt >= .seconds(1) else { return false }
            state.shownAt = .now
            return true
        }
        if isDue, isatty(STDERR_FILENO) == 1 { write("\r\(text(done))\u{1B}[K") }
    }

    func finish() {
        let done = state.withLock { $0.done }
        write(isatty(STDERR_FILENO) == 1 ? "\r\(text(done))\u{1B}[K\n" : "\(text(done))\n")
    }

    private func text(_ done: Int) -> String {
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        return "\(done) of \(total) \(what), \(Int(Double(done) / max(seconds, 0.001))) a second"
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}

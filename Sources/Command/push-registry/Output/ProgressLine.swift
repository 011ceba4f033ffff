import Foundation
import Glibc

/// A line on standard error that shows the progress of a command. Shows nothing unless standard error is a terminal.
struct ProgressLine: Sendable {
    private let isShown = isatty(STDERR_FILENO) == 1

    /// Replaces the line.
    func show(_ text: String) {
        // Carriage return, then "erase to the end of the line".
        if isShown { FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8)) }
    }

    func clear() { show("") }
}

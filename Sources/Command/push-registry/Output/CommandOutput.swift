import Foundation
import Glibc

/// Prints without buffering. `print` buffers if the output is not a terminal, and a service runs for months.
func show(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

func printJSON(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
}

/// A table with padded columns. The last column contains numbers and is right-aligned.
struct TextTable {
    let header: [String]
    let rows: [[String]]

    var text: String {
        let lines = [header] + rows
        let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line(of: $0, widths) }.joined(separator: "\n")
    }

    private func line(of cells: [String], _ widths: [Int]) -> String {
        cells.indices.map { column in
            let space = String(repeating: " ", count: widths[column] - cells[column].count)
            return column == cells.count - 1 ? space + cells[column] : cells[column] + space
        }.joined(separator: "  ")
    }
}

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

import ArgumentParser
import Foundation
import Glibc
import PushRegistry
import RegistryAPI

extension Segment {
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write an audience to the standard output, with tokens.",
            discussion: """
                One installation a line, in the order of their ids. Cut off, it goes on behind the last line's cursor, \
                which --after takes.
                """)
        @OptionGroup var question: SegmentOptions
        @Option(help: "ndjson or csv.") var format = "ndjson"
        @Option(
            help: ArgumentHelp(
                "What each line holds, with commas (default: installId,provider,token,keys,generation,cursor).",
                valueName: "field,…"))
        var fields: String?
        @Option(help: "The cursor of the last line that is there already.") var after: String?

        func validate() throws {
            if ExportFormat(rawValue: format) == nil {
                throw ValidationError("--format is ndjson or csv, not \(format).")
            }
        }

        func run() async throws {
            let (format, cursor) = (ExportFormat(rawValue: format) ?? .ndjson, after)
            let names = fields?.split(separator: ",").map(String.init)
            let progress = Progress()
            let count = try await question.ask { console, audience in
                var count = 0
                let export = try console.makeExport(names, as: format)
                try await console.run(export, of: audience, after: cursor) { bytes, rows in
                    try FileHandle.standardOutput.write(contentsOf: Data(bytes))
                    progress.tell(rows)
                    count = rows
                }
                return count
            }
            progress.end(count)
        }
    }
}

/// How far an export is, on a terminal's standard error.
private struct Progress {
    private let isShown = isatty(STDERR_FILENO) == 1

    func tell(_ rows: Int) {
        if isShown { write("\r\u{1B}[K\(rows) installations") }
    }

    func end(_ rows: Int) {
        if isShown { write("\r\u{1B}[K\(rows) installations, done\n") }
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}

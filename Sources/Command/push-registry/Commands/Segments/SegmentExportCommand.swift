import ArgumentParser
import Foundation
import PushRegistry
import RegistryAPI

extension SegmentCommand {
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write an audience to standard output, with tokens.",
            discussion: """
                One installation per line, in the order of their ids. To continue an interrupted export, pass the \
                cursor of its last line as --after.
                """)
        @OptionGroup var audience: SegmentOptions
        @Option(help: "ndjson or csv.") var format = "ndjson"
        @Option(
            help: ArgumentHelp(
                "The fields of a line (default: installId,provider,token,keys,generation,cursor).",
                valueName: "field,…"))
        var fields: String?
        @Option(help: "The cursor of the last line of an interrupted export.") var after: String?

        func validate() throws {
            if ExportFormat(rawValue: format) == nil {
                throw ValidationError("--format must be ndjson or csv, not \(format).")
            }
        }

        func run() async throws {
            let (format, cursor) = (ExportFormat(rawValue: format) ?? .ndjson, after)
            let names = fields?.split(separator: ",").map(String.init)
            let line = ProgressLine()
            let count = try await audience.query { console, audience in
                var count = 0
                let export = try console.makeExport(names, as: format)
                try await console.run(export, of: audience, after: cursor) { bytes, rows in
                    try FileHandle.standardOutput.write(contentsOf: Data(bytes))
                    line.show("\(rows) installations")
                    count = rows
                }
                return count
            }
            line.show("\(count) installations, done\n")
        }
    }
}

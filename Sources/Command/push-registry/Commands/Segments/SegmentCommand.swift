import ArgumentParser
import Foundation
import PushRegistry
import RegistryAPI

struct SegmentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "segment", abstract: "Count, break down and export an audience.",
        discussion: """
            An audience is a filter in the JSON of the API, saved segments, or both. The command reads the database \
            directly and has the rights of a sender: exports contain tokens.

              push-registry segment count --app my.app --filter '{"locale": "de"}'
              push-registry segment breakdown --app my.app --segment beta --by osVersion
              push-registry segment export --app my.app --filter @f.json > tokens.ndjson
            """,
        subcommands: [Count.self, Breakdown.self, Export.self])

    struct Count: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Count an audience, and print how it was counted.")
        @OptionGroup var audience: SegmentOptions
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let result = try await audience.query(isQuiet: json) { try await $0.count($1) }
            if json { return try printJSON(AudienceConsole.json(result)) }
            let path = result.plan.map { ", by \($0.path.rawValue) of about \($0.estimatedRows) rows" } ?? ""
            print("\(result.count) as of \(result.asOf)\(path)")
        }
    }

    struct Breakdown: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Count the groups of an audience, largest first.")
        @OptionGroup var audience: SegmentOptions
        @Option(help: "A field to group by; repeatable, up to three.") var by: [String]
        @Option(help: "The most groups to show, 1 to 1000.") var limit = 100
        @Flag(help: "Print JSON.") var json = false

        func validate() throws {
            guard (1...1_000).contains(limit) else { throw ValidationError("--limit must be from 1 to 1000.") }
        }

        func run() async throws {
            let (names, limit) = (by, limit)
            let (fields, breakdown) = try await audience.query(isQuiet: json) { console, audience in
                let fields = try console.fields(names)
                return (fields, try await console.breakDown(audience, by: fields, limit: limit))
            }
            if json { return try printJSON(AudienceConsole.json(breakdown, by: fields)) }
            print(table(breakdown))
        }

        private func table(_ breakdown: AudienceBreakdown) -> String {
            var rows = breakdown.groups.map { group in group.values.map { $0 ?? "-" } + ["\(group.count)"] }
            if breakdown.restGroups > 0 {
                rows.append(
                    ["\(breakdown.restGroups) more"] + by.dropFirst().map { _ in "" } + ["\(breakdown.restCount)"])
            }
            let table = TextTable(header: by + ["count"], rows: rows)
            return table.text + "\n\n\(breakdown.total) as of \(breakdown.asOf)"
        }
    }
}

/// The options that select an audience.
struct SegmentOptions: ParsableArguments {
    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Audiences") var audiences: SettingOptions<Setting.Audiences>
    @Option(help: "The app id.") var app: String
    @Option(help: ArgumentHelp("A filter in JSON, or @ and a file name.", valueName: "json")) var filter: String?
    @Option(help: "A saved segment; repeatable. Installations must be in all of them.") var segment: [String] = []
    @Option(help: "reachable, active or all.") var include = "reachable"

    func validate() throws {
        if AudienceInclude(rawValue: include) == nil {
            throw ValidationError("--include must be reachable, active or all, not \(include).")
        }
        if filter == nil, segment.isEmpty { throw ValidationError("Select an audience by --filter or --segment.") }
    }

    /// Lends a console and the selected audience.
    ///
    /// - Parameter isQuiet: whether not to print which database is used.
    func query<Value: Sendable>(
        isQuiet: Bool = false, _ body: (AudienceConsole, Audience) async throws -> Value
    ) async throws -> Value {
        let include = AudienceInclude(rawValue: include) ?? .reachable
        let (filter, names, app) = (try filter?.orContentsOfFile() ?? "{}", segment, app)
        do {
            return try await withAudiences(common, audiences, app: app, isQuiet: isQuiet) { console in
                try await body(
                    console, try await console.audience(filter: filter, segments: names, include: include))
            }
        } catch let error as AudienceConsole.Refusal {
            throw refusal("\(error)")
        }
    }
}

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

import ArgumentParser
import Foundation
import PushRegistry
import RegistryAPI

struct Segment: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Count, break down and export an audience.",
        discussion: """
            An audience is a filter as the API takes it, segments that are saved, or both. It is read from the \
            database directly, with the rights of a sender: exports show tokens.

              push-registry segment count --app com.example.mail --filter '{"locale": "de"}'
              push-registry segment breakdown --app com.example.mail --segment beta --by osVersion
              push-registry segment export --app com.example.mail --filter @filter.json > tokens.ndjson
            """,
        subcommands: [Count.self, Breakdown.self, Export.self])

    struct Count: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Count an audience, and say how that was found out.")
        @OptionGroup var question: SegmentOptions
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let answer = try await question.ask(isQuiet: json) { try await $0.count($1) }
            if json { return try printJSON(CountJSON(answer)) }
            let path = answer.plan.map { ", by \($0.path.rawValue) of about \($0.estimatedRows) rows" } ?? ""
            print("\(answer.count) as of \(answer.asOf)\(path)")
        }
    }

    struct Breakdown: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Count an audience's groups, the largest first.")
        @OptionGroup var question: SegmentOptions
        @Option(help: "A field to group by; repeat it for up to three.") var by: [String]
        @Option(help: "How many groups are shown, 1 to 1000.") var limit = 100
        @Flag(help: "Print JSON.") var json = false

        func validate() throws {
            guard (1...1_000).contains(limit) else { throw ValidationError("--limit is from 1 to 1000.") }
        }

        func run() async throws {
            let (fields, limit) = (by, limit)
            let answer = try await question.ask(isQuiet: json) { console, audience in
                try await console.breakDown(audience, by: try console.fields(fields), limit: limit)
            }
            if json { try printJSON(BreakdownJSON(answer, by: by)) } else { print(table(answer)) }
        }

        private func table(_ answer: AudienceBreakdown) -> String {
            var rows = answer.groups.map { group in group.values.map { $0 ?? "-" } + ["\(group.count)"] }
            if answer.restGroups > 0 {
                rows.append(["\(answer.restGroups) more"] + by.dropFirst().map { _ in "" } + ["\(answer.restCount)"])
            }
            let table = TextTable(header: by + ["count"], rows: rows)
            return table.text + "\n\n\(answer.total) as of \(answer.asOf)"
        }
    }
}

/// Which audience, and from where.
struct SegmentOptions: ParsableArguments {
    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Audiences") var audiences: AudienceOptions
    @Option(help: "The app's identifier.") var app: String
    @Option(help: ArgumentHelp("A filter as JSON, or @ and the name of a file.", valueName: "json")) var filter: String?
    @Option(help: "A saved filter; repeat it for installations that are in all of them.") var segment: [String] = []
    @Option(help: "reachable, active or all.") var include = "reachable"

    func validate() throws {
        if AudienceInclude(rawValue: include) == nil {
            throw ValidationError("--include is reachable, active or all, not \(include).")
        }
        if filter == nil, segment.isEmpty { throw ValidationError("Name an audience by --filter or --segment.") }
    }

    /// Lends a console and the audience that the options name.
    ///
    /// - Parameter isQuiet: whether a program reads the answer.
    func ask<Answer: Sendable>(
        isQuiet: Bool = false, _ question: (AudienceConsole, Audience) async throws -> Answer
    ) async throws -> Answer {
        let include = AudienceInclude(rawValue: include) ?? .reachable
        let (filter, names, app) = (try filterText(), segment, app)
        do {
            return try await withAudiences(common, audiences, app: app, isQuiet: isQuiet) { console in
                try await question(
                    console, try await console.audience(filter: filter, segments: names, include: include))
            }
        } catch let error as AudienceConsole.Refusal {
            throw refusal("\(error)")
        }
    }

    private func filterText() throws -> String {
        guard let filter else { return "{}" }
        guard filter.hasPrefix("@") else { return filter }
        let file = String(filter.dropFirst())
        guard let text = try? String(contentsOf: URL(filePath: file), encoding: .utf8) else {
            throw ValidationError("\(file) cannot be read.")
        }
        return text
    }
}

private struct CountJSON: Encodable {
    let count: Int64
    let asOf: String
    let path: String?
    let estimatedRows: Int64?

    init(_ answer: AudienceCount) {
        count = answer.count
        asOf = answer.asOf.description
        path = answer.plan?.path.rawValue
        estimatedRows = answer.plan?.estimatedRows
    }
}

private struct BreakdownJSON: Encodable {
    struct Group: Encodable {
        let values: [String: String?]
        let count: Int64
    }

    struct Rest: Encodable {
        let groups: Int64
        let count: Int64
    }

    let asOf: String
    let total: Int64
    let groups: [Group]
    let rest: Rest

    init(_ answer: AudienceBreakdown, by fields: [String]) {
        asOf = answer.asOf.description
        total = answer.total
        groups = answer.groups.map { group in
            Group(values: Dictionary(uniqueKeysWithValues: zip(fields, group.values)), count: group.count)
        }
        rest = Rest(groups: answer.restGroups, count: answer.restCount)
    }
}

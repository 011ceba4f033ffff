import Foundation
import PushRegistry
import RegistryJobs
import Telemetry

extension CleanUp.Progress {
    /// The progress line.
    var text: String {
        switch self {
        case .reading(let done, let all): "\(bar(done, of: all)) looking for due installations"
        case .retiring(let done, let all): "\(bar(done, of: all)) \(done) of \(all)"
        case .readdressing(let done, let all): "\(bar(done, of: all)) looking for tokens without an address"
        case .upkeep: "history, tombstones and counts"
        }
    }

    private func bar(_ done: Int, of all: Int) -> String {
        let width = 30
        let filled = all == 0 ? width : width * done / all
        return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "]"
    }
}

extension CleanUpReport {
    /// One line for each changed or skipped app, and one for the whole run.
    var text: String {
        let lines = apps.filter { $0.isRefused || $0.nodeFault != nil || $0.counts.total > 0 }.map(\.text)
        let name = runID.map { "run \($0)" } ?? "dry run, nothing was changed"
        let changes = (counts.total > 0 ? [counts.text] : ["no installation changed"]) + upkeep
        let history = historyFault.map { "history: NOT KEPT, a node did not respond: \($0.escapedForTerminal)" }
        return (lines + [history, "\(name): \(changes.joined(separator: ", "))"].compactMap(\.self))
            .joined(separator: "\n")
    }

    private var upkeep: [String] {
        [
            (readdressed.tokens, "tokens identified by their addresses"),
            (readdressed.superseded, "superseded by another spelling of their tokens"),
            (tombstones, "tombstones deleted"), (counts.typedTokens, "expired tokens deleted"),
            (historyRemoved, "rows of old history deleted"),
            (partitionsDropped, "partitions of old history dropped"), (partitionsMade, "partitions created"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    }
}

extension CleanUpReport.AppResult {
    fileprivate var text: String {
        if let policyFault {
            return "\(app): SKIPPED, its stored policy cannot be used: \(policyFault.escapedForTerminal)"
        }
        if let nodeFault {
            return "\(app): LEFT after \(counts.text), its node did not respond: \(nodeFault.escapedForTerminal)"
        }
        guard isRefused else { return "\(app): \(counts.text)" }
        let percent = active == 0 ? 100 : (100 * leaving + active - 1) / active
        return """
            \(app): SKIPPED, nothing was changed: \(leaving) of \(active) active installations would be retired.
                Check its policy, PostgreSQL's clock, and that registrations arrive. Then allow it once:
                push-registry cleanup --app \(app) --max-share \(percent)%
            """
    }
}

extension [CleanUpRun] {
    /// One line for each run.
    var text: String {
        isEmpty
            ? "there are no runs yet"
            : TextTable(header: ["run", "started", "outcome", "changed", "took"], rows: map(\.cells)).text
    }
}

extension CleanUpRun {
    fileprivate var cells: [String] {
        let what = undoes.map { "undid run \($0): \(restored) restored" } ?? counts.text
        return ["\(id)", startedAt.description, outcome, what, took]
    }

    private var took: String {
        guard let finishedAt else { return "" }
        let seconds = Double(finishedAt.microseconds - startedAt.microseconds) / 1_000_000
        return String(format: "%.1f s", seconds)
    }
}

extension CleanUpCounts {
    fileprivate var text: String {
        let steps: [(CleanUpStep, String)] = [
            (.stale, "stale"), (.sessionEnded, "sessions ended"), (.superseded, "superseded"),
            (.unregistered, "unregistered"), (.purged, "purged"),
        ]
        let counts = steps.filter { self[$0.0] > 0 }.map { "\(self[$0.0]) \($0.1)" }
        return counts.isEmpty ? "no installation" : counts.joined(separator: ", ")
    }
}

extension CleanUpCounts {
    fileprivate var byStep: [String: Int] {
        Dictionary(uniqueKeysWithValues: CleanUpStep.allCases.map { ($0.rawValue, self[$0]) })
            .merging(["typedTokens": typedTokens]) { $1 }
    }
}

struct CleanUpReportJSON: Encodable {
    struct AppJSON: Encodable {
        let app: String
        let active, leaving: Int
        let refused: Bool
        let counts: [String: Int]
        let nodeFault: String?
    }

    let run: Int?
    let dryRun: Bool
    let apps: [AppJSON]
    let counts: [String: Int]
    let tombstones, partitionsMade, partitionsDropped, historyRemoved, readdressed, superseded: Int
    let historyFault: String?

    init(_ report: CleanUpReport) {
        run = report.runID
        dryRun = report.runID == nil
        apps = report.apps.map {
            AppJSON(
                app: $0.app, active: $0.active, leaving: $0.leaving, refused: $0.isRefused,
                counts: $0.counts.byStep, nodeFault: $0.nodeFault)
        }
        counts = report.counts.byStep
        tombstones = report.tombstones
        partitionsMade = report.partitionsMade
        partitionsDropped = report.partitionsDropped
        historyRemoved = report.historyRemoved
        readdressed = report.readdressed.tokens
        superseded = report.readdressed.superseded
        historyFault = report.historyFault
    }
}

struct CleanUpRunJSON: Encodable {
    let run: Int
    let undoes: Int?
    let startedAt: String
    let finishedAt: String?
    let outcome: String
    let counts: [String: Int]
    let restored: Int

    init(_ run: CleanUpRun) {
        self.run = run.id
        undoes = run.undoes
        startedAt = run.startedAt.description
        finishedAt = run.finishedAt?.description
        outcome = run.outcome
        counts = run.counts.byStep
        restored = run.restored
    }
}

import Foundation
import Glibc
import PushRegistry
import RegistryStore

/// A line on a terminal's standard error that tells how far a run is; nothing elsewhere.
struct ProgressBar: Sendable {
    private let isShown = isatty(STDERR_FILENO) == 1
    private static let width = 30

    func show(_ progress: CleanUp.Progress) {
        switch progress {
        case .reading(let done, let all): tell("\(bar(done, of: all)) looking for what is due")
        case .retiring(let done, let all): tell("\(bar(done, of: all)) \(done) of \(all)")
        case .upkeep: tell("history, logouts and counts")
        }
    }

    private func bar(_ done: Int, of all: Int) -> String {
        let filled = all == 0 ? Self.width : Self.width * done / all
        return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: Self.width - filled) + "]"
    }

    func clear() { tell("") }

    private func tell(_ text: String) {
        if isShown { FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8)) }
    }
}

extension CleanUpReport {
    /// A line for each app, and one for the rest.
    var text: String {
        let lines = apps.map { app in
            app.isRefused
                ? "\(app.app): HELD BACK, \(app.leaving) of \(app.active) active installations would go (--max-share)"
                : "\(app.app): \(app.counts.text)"
        }
        let rest =
            "\(tombstones) logouts forgotten, \(partitionsDropped) partitions dropped, \(partitionsMade) made"
        let name = runID.map { "run \($0)" } ?? "dry run, nothing was changed"
        return (lines + ["\(name): \(counts.text); \(rest)"]).joined(separator: "\n")
    }
}

extension CleanUpRun {
    var text: String {
        let what = undoes.map { "undid run \($0): \(restored) restored" } ?? counts.text
        return "\(id)  \(startedAt)  \(outcome)  \(what)"
    }
}

extension CleanUpCounts {
    var text: String {
        "\(self[.stale]) stale, \(self[.sessionEnded]) sessions ended, \(self[.superseded]) superseded, "
            + "\(self[.unregistered]) unregistered, \(self[.purged]) purged"
    }
}

struct CleanUpCountsJSON: Encodable {
    let stale, sessionEnded, superseded, unregistered, purged: Int

    init(_ counts: CleanUpCounts) {
        stale = counts[.stale]
        sessionEnded = counts[.sessionEnded]
        superseded = counts[.superseded]
        unregistered = counts[.unregistered]
        purged = counts[.purged]
    }
}

struct CleanUpReportJSON: Encodable {
    struct AppJSON: Encodable {
        let app: String
        let active, leaving: Int
        let refused: Bool
        let counts: CleanUpCountsJSON
    }

    let run: Int?
    let dryRun: Bool
    let apps: [AppJSON]
    let counts: CleanUpCountsJSON
    let tombstones, partitionsMade, partitionsDropped, historyRemoved: Int

    init(_ report: CleanUpReport) {
        run = report.runID
        dryRun = report.runID == nil
        apps = report.apps.map {
            AppJSON(
                app: $0.app, active: $0.active, leaving: $0.leaving, refused: $0.isRefused,
                counts: CleanUpCountsJSON($0.counts))
        }
        counts = CleanUpCountsJSON(report.counts)
        tombstones = report.tombstones
        partitionsMade = report.partitionsMade
        partitionsDropped = report.partitionsDropped
        historyRemoved = report.historyRemoved
    }
}

struct CleanUpRunJSON: Encodable {
    let run: Int
    let undoes: Int?
    let startedAt: String
    let finishedAt: String?
    let outcome: String
    let counts: CleanUpCountsJSON
    let restored: Int

    init(_ run: CleanUpRun) {
        self.run = run.id
        undoes = run.undoes
        startedAt = run.startedAt.description
        finishedAt = run.finishedAt?.description
        outcome = run.outcome
        counts = CleanUpCountsJSON(run.counts)
        restored = run.restored
    }
}

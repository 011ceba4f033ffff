import ArgumentParser
import Foundation
import Glibc
import RegistryStore

struct RebuildRollUp: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild-rollup",
        abstract: "Correct the counts behind audiences by a recount.",
        discussion: """
            Counts are kept exact with every change, so this is for databases that were changed behind the registry's \
            back: rows loaded with triggers disabled, or roll-up tables edited by hand. `verify` says whether it is \
            needed (rollup-recount, rollup-marginals).

            It may run beside the service. Registrations do not wait for it: installations and counts are compared in \
            one snapshot, and only the differences are written, as corrections that add up with what is registered \
            meanwhile. It reads all installations once (of five million, for some ten seconds). When it is \
            interrupted, run it again.
            """)

    @OptionGroup var common: CommonOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let settings = try await common.settings()
        let logger = ProcessLogging.start(settings)
        let report = try await Database.withAttached(settings, isQuiet: json, logger: logger) { try await rebuild($0) }
        if json { try printJSON(ReportJSON(report)) } else { print(Self.text(report)) }
    }

    private func rebuild(_ database: Database) async throws -> RollUpRebuild.Report {
        _ = try await database.migrate()
        let showsProgress = isatty(STDERR_FILENO) == 1
        let report = try await RollUpRebuild(database.configuration).run { step in
            if showsProgress { Self.tell("\r\u{1B}[K\(Self.text(step))") }
        }
        if showsProgress { Self.tell("\r\u{1B}[K") }
        return report
    }

    private static func tell(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }

    private static func text(_ step: RollUpRebuild.Step) -> String {
        switch step {
        case .aligning: "1/3 holding sums against cells"
        case .recounting: "2/3 recounting installations"
        case .folding(let folded, let all): "3/3 folding \(folded) of \(all)"
        }
    }

    private static func text(_ report: RollUpRebuild.Report) -> String {
        report.marginals + report.cells == 0
            ? "the roll-up was right"
            : "corrected \(report.cells) counts, and \(report.marginals) sums of counts"
    }
}

private struct ReportJSON: Encodable {
    let correctedCells: Int
    let correctedMarginals: Int
    let foldedDeltas: Int

    init(_ report: RollUpRebuild.Report) {
        correctedCells = report.cells
        correctedMarginals = report.marginals
        foldedDeltas = report.folded
    }
}

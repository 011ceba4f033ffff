import ArgumentParser
import RegistryJobs

struct RebuildRollUpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild-rollup",
        abstract: "Recount the installations and correct the roll-up of the counts.",
        usage: "push-registry rebuild-rollup [--json] [<options>]",
        discussion: """
            Each transaction that changes installations also inserts the deltas of their counts, so the counts are \
            always exact. This command is for databases that were changed by other means, such as rows of \
            installations or of the roll-up written by hand. `verify` shows whether it is needed (rollup-cells, \
            rollup-recount, rollup-expiry).

            It may run beside the service, and registrations do not wait for it. It compares installations and counts \
            in one snapshot and inserts only the differences, as deltas that add up with those of concurrent \
            registrations. It reads all installations once (about ten seconds for five million). If it is \
            interrupted, run it again.
            """)

    @OptionGroup var common: CommonOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let report = try await Database.withAttached(common.settings(), isQuiet: json) { try await rebuild($0) }
        if json {
            try printJSON([
                "correctedCells": report.cells, "movedInstallations": report.installations,
                "foldedDeltas": report.folded,
            ])
        } else {
            print(Self.text(report))
        }
    }

    private func rebuild(_ database: Database) async throws -> RollUpRebuild.Report {
        let line = ProgressLine()
        let report = try await RollUpRebuild(database.configuration).run { line.show(Self.text($0)) }
        line.clear()
        return report
    }

    private static func text(_ step: RollUpRebuild.Step) -> String {
        switch step {
        case .recounting: "1/2 recounting installations"
        case .folding(let folded, let all): "2/2 folding \(folded) of \(all)"
        }
    }

    private static func text(_ report: RollUpRebuild.Report) -> String {
        let corrected = [
            report.installations > 0 ? "corrected the cells of \(report.installations) installations" : nil,
            report.cells > 0 ? "corrected \(report.cells) counts" : nil,
        ].compactMap(\.self)
        return corrected.isEmpty ? "the roll-up was correct" : corrected.joined(separator: ", ")
    }
}

import ArgumentParser
import Foundation

@main
struct PushRegistryBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-registry-bench",
        abstract: "Measures push-registry against bare PostgreSQL, and fills databases with realistic installations.",
        subcommands: [
            AllCommand.self, RunCommand.self, AgainstCommand.self, FillCommand.self, AudiencesCommand.self,
            ImportBenchmarkCommand.self, ExportCommand.self, CleanUpBenchmarkCommand.self, NeighboursCommand.self,
            MessagesBenchmarkCommand.self, EngineServerCommand.self,
        ],
        defaultSubcommand: AllCommand.self)
}

struct AllCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "all",
        abstract: "Measure everything, and print the tables (the default).",
        discussion: """
            Runs all other benchmarks one after the other, each with its own throw-away PostgreSQL, and writes their \
            tables to bench-YYYY-MM-DD.txt in the current folder. Every line is a ratio \
            of two things that were measured in turn, in one run, on this machine. Registrations are measured twice: \
            on the disk as it is, and with a millisecond added to each flush of the WAL for both sides, because some \
            disks respond from memory, which production's disks do not.

            With the fleet of five million it takes more than an hour and 15 GB.
            """)

    @Option(help: "The large fleet's size; the small one is a tenth of it.")
    var fleet = 5_000_000

    @Option(help: "Measure this push-registry against another binary instead; see the command \"against\".")
    var against: String?

    @Flag(help: "A short test run, with a fleet of 100,000.")
    var quick = false

    @Flag(help: "Build the Hummingbird 2 server to compare the HTTP engine with; takes minutes the first time.")
    var withHummingbird = false

    @Flag(help: "Measure registrations on a Citus cluster instead; see the command \"against\".")
    var citus = false

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard fleet >= 10_000 else { throw ValidationError("--fleet must be 10000 or more.") }
    }

    func run() async throws {
        var report = AllReport()
        for part in try parts() {
            Self.printProgress("\(part.title)")
            do {
                report.add(try await part.command.measure { Self.printProgress("  \($0)") })
            } catch {
                report.add(failure: "\(part.title): \(error)")
            }
            // Written after each part, so that an interrupted run leaves its results.
            try Data(report.text.utf8).write(to: URL(filePath: "bench-\(Self.today).txt"))
        }
        print(report.text, terminator: "")
        if !report.failures.isEmpty { throw ExitCode.failure }
    }

    private func parts() throws -> [(title: String, command: any BenchmarkCommand)] {
        let fleet = quick ? 100_000 : fleet
        let brief = quick ? ["--quick"] : []
        if let against { return [("against \(against)", try AgainstCommand.parse([against] + shared + brief))] }
        if citus {
            let rows = ["--rows", "unchanged", "changed", "first"]
            return [("Citus", try AgainstCommand.parse(["--citus"] + rows + shared + brief))]
        }
        let rounds = ["--rounds", quick ? "1" : "3"]
        return [
            ("registrations", try RunCommand.parse(shared + brief + (withHummingbird ? ["--with-hummingbird"] : []))),
            (
                "registrations, 1 ms added to each flush",
                try RunCommand.parse(
                    shared + brief + ["--flush-delay", "1000", "--rows", "unchanged,changed,first"])
            ),
            ("import", try ImportBenchmarkCommand.parse(shared + rounds + ["--count", "\(fleet / 10)"])),
            ("export", try ExportCommand.parse(shared + rounds + ["--count", "\(fleet / 5)"])),
            ("messages", try MessagesBenchmarkCommand.parse(shared + rounds + ["--count", "\(fleet / 10)"])),
            ("audiences", try AudiencesCommand.parse(shared + ["--counts", "\(fleet / 10)", "\(fleet)"])),
            (
                "the night job",
                try CleanUpBenchmarkCommand.parse(shared + ["--rounds", quick ? "1" : "2", "--count", "\(fleet)"])
            ),
            ("neighbours", try NeighboursCommand.parse(shared + rounds)),
        ]
    }

    private var shared: [String] {
        ["--seed", "\(common.seed)"] + (common.binary.map { ["--binary", $0] } ?? [])
            + (common.noAccessLog ? ["--no-access-log"] : [])
    }

    private static var today: String { Date.now.formatted(.iso8601.year().month().day()) }

    private static func printProgress(_ line: String) {
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
}

/// The reports of all benchmarks.
private struct AllReport {
    private var parts: [BenchmarkReport] = []
    private(set) var failures: [String] = []

    mutating func add(_ report: BenchmarkReport) { parts.append(report) }
    mutating func add(failure: String) { failures.append("FAILED: \(failure)") }

    /// The figures and notes of all benchmarks, and the failures.
    var text: String { (parts.map(\.text) + failures.map { "\($0)\n" }).joined(separator: "\n") }
}

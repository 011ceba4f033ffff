import ArgumentParser

struct ImportCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Measure push-registry import against psql's \\copy of the same rows.",
        discussion: """
            Starts a throw-away PostgreSQL and writes a fleet to two files: the rows as \\copy takes them, and NDJSON. \
            Then it loads each in turn into the emptied table: with \\copy, the table having its indexes but no \
            triggers and nothing being written beside it; and with push-registry import, which reads and checks every \
            line, holds it against what is registered, and appends an event and the changes of counts.
            """)

    @Option(help: "Installations in the files.")
    var count = 500_000

    @Option(help: "Rounds; the medians count.")
    var rounds = 3

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count > 0, rounds > 0 else { throw ValidationError("--count and --rounds are above 0.") }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> ImportReport {
        try await common.withCluster(Benchmark.clusterSettings(RunOptions())) { server, binary in
            let benchmark = try ImportBenchmark(server, binary, count: count, seed: common.seed)
            return try await benchmark.run(rounds: rounds, log: log)
        }
    }
}

/// Installations a second of each round.
struct ImportReport: BenchmarkReport {
    private static let ratioMin = 0.5

    let count: Int
    var copy: [Double] = []
    var own: [Double] = []

    var figures: [Figure] {
        [
            Figure(
                title: "import", unit: "a second", value: own.median, otherName: "\\copy", other: copy.median,
                target: .ratioMin(Self.ratioMin))
        ]
    }

    var text: String {
        FigureTable(title: "import of \(count) installations", figures: figures).text
            + "\nMedians of \(own.count) rounds, into emptied tables.\n"
    }
}

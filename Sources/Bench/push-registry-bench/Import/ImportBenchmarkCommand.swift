import ArgumentParser

struct ImportBenchmarkCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Measure push-registry import against psql's \\copy of the same rows.",
        discussion: """
            Starts a throw-away PostgreSQL and writes a fleet to two files: rows for \\copy, and NDJSON. Then it loads \
            each in turn into the emptied table: with \\copy, where the table has its indexes but no triggers and \
            nothing else is written; and with push-registry import, which reads and validates every line, compares it \
            with the registered installations, and writes an event and the changes of counts.
            """)

    @Option(help: "Installations in the files.")
    var count = 500_000

    @Option(help: "Rounds; the medians count.")
    var rounds = 3

    @Flag(help: "Measure the exports of other systems as well.")
    var foreign = false

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count > 0, rounds > 0 else { throw ValidationError("--count and --rounds must be above 0.") }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(RunBenchmark.clusterSettings(RunOptions())) { server, binary in
            let files = foreign ? ForeignFile.all : []
            let benchmark = try ImportBenchmark(server, binary, count: count, seed: common.seed, files: files)
            return try await benchmark.run(rounds: rounds, log: log)
        }
    }
}

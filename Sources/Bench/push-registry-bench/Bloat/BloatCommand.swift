import ArgumentParser
import EmbeddedPostgres

struct BloatCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "bloat",
        abstract: "Measure how the database grows when a whole fleet registers again and again.",
        discussion: """
            Starts a throw-away PostgreSQL with the default autovacuum, loads a fleet, and registers every \
            installation again and again over HTTP with other settings, in another order each time; a tenth of them \
            with another authorization too, which changes counts. The table of installations has as many rows \
            afterwards as before, so its growth is bloat. The history grows by what is written to it.
            """)

    @Option(help: "The fleet's size.")
    var count = 100_000

    @Option(help: "How often the fleet registers again.")
    var times = 20

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count >= 1_000, (1...255).contains(times) else {
            throw ValidationError("--count must be 1000 or more, --times 1 to 255.")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(RunBenchmark.clusterSettings(RunOptions())) { server, binary in
            let database = try BenchmarkDatabase(server, binary, count: count, seed: common.seed)
            return try await BloatBenchmark(database: database, times: times).run(log: log)
        }
    }
}

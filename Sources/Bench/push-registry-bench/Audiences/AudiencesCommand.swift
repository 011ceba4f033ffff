import ArgumentParser
import EmbeddedPostgres

struct AudiencesCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "audiences",
        abstract: "Measure audience counts and breakdowns from the roll-up.",
        discussion: """
            Starts a throw-away PostgreSQL, loads a fleet of each size in turn, and runs the queries one after the \
            other, with the service's own code. The other side counts the same installations by count(*) with an index \
            that covers all columns it needs.

            Five million installations take about ten minutes and 6 GB.
            """)

    @Option(parsing: .upToNextOption, help: "The fleets' sizes, ascending.")
    var counts = [500_000, 5_000_000]

    @Option(help: "How often each query runs.")
    var times = 100

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard let first = counts.first, first >= 1_000, counts == counts.sorted(), times > 0 else {
            throw ValidationError("--counts must ascend from 1000, --times must be above 0.")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(AudienceBenchmark.clusterSettings) { server, binary in
            try await binary.run(["migrate"], environment: ["PUSH_REGISTRY_DATABASE_URL": server.connectionString])
            let benchmark = try AudienceBenchmark(
                server.connectionString, counts: counts, times: times, seed: common.seed)
            return try await benchmark.run(log: log)
        }
    }
}

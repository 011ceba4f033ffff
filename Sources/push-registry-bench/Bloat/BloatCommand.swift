import ArgumentParser
import EmbeddedPostgres
import Logging

struct BloatCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "bloat",
        abstract: "Measure how the database grows when a whole fleet registers again and again.",
        discussion: """
            Starts a throw-away PostgreSQL with autovacuum as it is by default, loads a fleet, and has every installation \
            register anew over HTTP with other settings, in another order each time; a tenth of them with another \
            authorization too, which moves counts. The table of installations holds as many rows afterwards as before: \
            what it has grown by is bloat. The history has grown by what was written into it.
            """)

    @Option(help: "The fleet's size.")
    var count = 100_000

    @Option(help: "How often the fleet registers again.")
    var times = 20

    @Option(help: "The fleet's seed.")
    var seed: UInt64 = 1

    @Option(help: "The push-registry to measure. Default: the one beside this program.")
    var binary: String?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard count >= 1_000, (1...255).contains(times) else {
            throw ValidationError("--count is 1000 or more, --times 1 to 255.")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BloatReport {
        let binary = try Binary.pushRegistry(binary)
        let quiet = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        let settings = Benchmark.clusterSettings(RunOptions())
        return try await ThrowawayCluster.with(settings: settings, logger: quiet) { server in
            try await BloatBenchmark(server.connectionString, binary, count: count, times: times, seed: seed).run(
                log: log)
        }
    }
}

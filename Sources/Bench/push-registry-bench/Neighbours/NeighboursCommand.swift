import ArgumentParser
import EmbeddedPostgres

struct NeighboursCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "neighbours",
        abstract: "Measure clients while others contend for locks or send large calls.",
        discussion: """
            Starts a throw-away PostgreSQL, loads a fleet, and sends registrations over a few connections: alone for \
            some seconds, then during each of three contentions in turn: 1,000 clients that register the same \
            installation; clients that register one installation whose row another session has locked; and six \
            erasures of users whose installations are locked. Then sends GET /healthz to a service with one event \
            loop, alone and beside calls of feedback with 10,000 items. Compares the 99th percentiles.
            """)

    @Option(help: "The fleet's size.")
    var count = 100_000

    @Option(help: "Seconds that each measurement lasts.")
    var seconds = 4

    @Option(help: "Rounds; the medians count.")
    var rounds = 3

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count >= 20_000, (1...60).contains(seconds), rounds > 0 else {
            throw ValidationError("--count must be 20000 or more, --seconds 1 to 60, --rounds above 0.")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(AudienceBenchmark.clusterSettings) { server, binary in
            let database = try BenchmarkDatabase(server, binary, count: count, seed: common.seed)
            return try await NeighbourBenchmark(database: database, seconds: seconds).run(
                rounds: rounds, writesAccessLog: common.writesAccessLog, log: log)
        }
    }
}

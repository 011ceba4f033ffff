import ArgumentParser
import EmbeddedPostgres
import Foundation

struct MessagesBenchmarkCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "messages",
        abstract: "Measure receipts of messages, and an export with receipts against one without.",
        discussion: """
            Starts a throw-away PostgreSQL with a fleet, and the service. It sends receipts, ten in each call, over 64 \
            connections, until the time is over; then the same receipts again. Then it exports the fleet without and \
            with receipts in turn.
            """)

    @Option(help: "The fleet's size.")
    var count = 500_000

    @Option(help: "Rounds; the medians count.")
    var rounds = 3

    @Option(help: "Seconds of receipts in each round, at most.")
    var seconds = 10

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count >= 1_000, rounds > 0, seconds > 0 else {
            throw ValidationError("--count must be 1000 or more, --rounds and --seconds above 0.")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(AudienceBenchmark.clusterSettings) { server, binary in
            let database = try BenchmarkDatabase(server, binary, count: count, seed: common.seed)
            return try await MessagesBenchmark(database: database).run(rounds: rounds, seconds: seconds, log: log)
        }
    }
}

import ArgumentParser
import EmbeddedPostgres

struct CleanUpBenchmarkCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "cleanup",
        abstract: "Measure the clean-up against bare SQL that changes the same rows, and during registrations.",
        discussion: """
            Starts a throw-away PostgreSQL, loads a fleet, and makes a tenth of it old, another tenth each round. Bare \
            SQL makes these stale in one transaction, with the same events and the same roll-up; in turn with it, \
            push-registry cleanup makes another tenth stale. Both sides fold the roll-up in the end; the clean-up's \
            time is that of its process, pauses included. Then push-registry serve receives registrations of other \
            installations, first without the clean-up and then while it runs.

            Five million installations take about twenty minutes and 10 GB.
            """)

    @Option(help: "The fleet's size.")
    var count = 5_000_000

    @Option(help: "The number of rounds, at most 3; each uses other tenths.")
    var rounds = 3

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count >= 100_000, (1...CleanUpBenchmark.roundsMax).contains(rounds) else {
            throw ValidationError("--count must be 100000 or more, --rounds 1 to \(CleanUpBenchmark.roundsMax).")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(AudienceBenchmark.clusterSettings) { server, binary in
            let database = try BenchmarkDatabase(server, binary, count: count, seed: common.seed)
            return try await CleanUpBenchmark(database: database).run(rounds: rounds, log: log)
        }
    }
}

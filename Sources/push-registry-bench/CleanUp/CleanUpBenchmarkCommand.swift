import ArgumentParser
import EmbeddedPostgres

struct CleanUpBenchmarkCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "cleanup",
        abstract: "Measure the night job against bare SQL that changes the same rows, and beside registrations.",
        discussion: """
            Starts a throw-away PostgreSQL, loads a fleet, and makes a tenth of it old, another one each round. In \
            turn, bare SQL makes those stale in one transaction, with the same events and the same roll-up, or \
            push-registry cleanup does. Both sides fold the roll-up in the end; the job's time is that of its process, \
            pauses included. Then push-registry serve gets registrations of installations that are none of these, for \
            some seconds and for as long as the job runs.

            Five million installations take some twenty minutes and 10 GB.
            """)

    @Option(help: "The fleet's size.")
    var count = 5_000_000

    @Option(help: "How often all of it runs, at most 3: each time with other tenths.")
    var rounds = 3

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count >= 100_000, (1...CleanUpBenchmark.roundsMax).contains(rounds) else {
            throw ValidationError("--count is 100000 or more, --rounds 1 to \(CleanUpBenchmark.roundsMax).")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> CleanUpReport {
        try await common.withCluster(AudienceBenchmark.clusterSettings) { server, binary in
            try await binary.run(["migrate"], environment: ["PUSH_REGISTRY_DATABASE_URL": server.connectionString])
            return try await CleanUpBenchmark(server, binary, count: count, seed: common.seed).run(
                rounds: rounds, log: log)
        }
    }
}

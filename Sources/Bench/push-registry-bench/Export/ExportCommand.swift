import ArgumentParser
import EmbeddedPostgres

struct ExportCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Measure an audience's export against psql's \\copy of the same rows in the same order.",
        discussion: """
            Starts a throw-away PostgreSQL with a fleet, and the service. In turn, psql copies all active \
            installations to /dev/null, and a client exports them over HTTP and discards them: tokens and the other \
            columns for sending, as NDJSON and as CSV. Then registrations, about half of which change settings, are \
            sent without and with a concurrent export.
            """)

    @Option(help: "The fleet's size.")
    var count = 1_000_000

    @Option(help: "Rounds; the medians count.")
    var rounds = 3

    @Option(help: "Seconds of registrations, with and without an export.")
    var seconds = 10

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count > 0, rounds > 0, seconds > 0 else {
            throw ValidationError("--count, --rounds and --seconds must be above 0.")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(AudienceBenchmark.clusterSettings) { server, binary in
            let database = try BenchmarkDatabase(server, binary, count: count, seed: common.seed)
            return try await ExportBenchmark(database).run(rounds: rounds, seconds: seconds, log: log)
        }
    }
}

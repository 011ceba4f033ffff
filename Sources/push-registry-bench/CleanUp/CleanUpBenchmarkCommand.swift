import ArgumentParser
import EmbeddedPostgres
import Foundation
import Logging

struct CleanUpBenchmarkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cleanup",
        abstract: "Measure the night job against bare SQL that changes the same rows.",
        discussion: """
            Starts a throw-away PostgreSQL, loads a fleet, and makes a tenth of it old, another one each round. In turn, bare SQL makes \
            those stale in one transaction, with the same events and the same roll-up, or push-registry cleanup does. Both \
            sides fold the roll-up in the end; the job's time is that of its process, pauses included.

            Five million installations take some fifteen minutes and 10 GB.
            """)

    @Option(help: "The fleet's size.")
    var count = 5_000_000

    @Option(help: "How often each side runs, at most 5: each time with another tenth.")
    var rounds = 3

    @Option(help: "The fleet's seed.")
    var seed: UInt64 = 1

    @Option(help: "The push-registry to measure. Default: the one beside this program.")
    var binary: String?

    func validate() throws {
        guard count >= 1_000, (1...5).contains(rounds) else {
            throw ValidationError("--count is 1000 or more, --rounds 1 to 5.")
        }
    }

    func run() async throws {
        let binary = try Binary.pushRegistry(binary)
        let quiet = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        try await ThrowawayCluster.with(settings: AudienceBenchmark.clusterSettings, logger: quiet) { server in
            try await binary.run(["migrate"], environment: ["PUSH_REGISTRY_DATABASE_URL": server.connectionString])
            let benchmark = try CleanUpBenchmark(server.connectionString, binary: binary, count: count, seed: seed)
            let result = try await benchmark.run(rounds: rounds) { line in
                FileHandle.standardError.write(Data("\(line)\n".utf8))
            }
            print(result.text)
        }
    }
}

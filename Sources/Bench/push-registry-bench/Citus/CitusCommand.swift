import ArgumentParser
import FleetGenerator

struct CitusCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "citus",
        abstract: "Measure registrations on a Citus cluster against one PostgreSQL.",
        discussion: """
            Starts a throw-away PostgreSQL and a throw-away Citus cluster (a coordinator and two workers) on this \
            machine, each with a service, and registers the same fleets with both over HTTP: one of a single app, and \
            one that eight apps share. Then puts the same load on both in turn, row after row and round after round; \
            in every second round the cluster comes first. The installed PostgreSQL must have the extension Citus.

            All processes share the machine's cores, so the ratios show the cost of the coordinator and of the \
            connections to the workers, and not the gain of more machines.
            """)

    @Option(help: "Installations of each fleet.")
    var count = 40_000

    @Option(help: "The most seconds of each measurement.")
    var seconds = 4

    @Option(help: "Rounds; the medians count.")
    var rounds = 2

    @Option(help: "HTTP connections.")
    var connections = 64

    @Option(parsing: .upToNextOption, help: "Numbers of apps that share a fleet.")
    var apps = [1, 8]

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count >= 1_000, seconds > 0, rounds > 0, (1...10_000).contains(connections) else {
            throw ValidationError(
                "--count must be 1000 or more, --seconds and --rounds above 0, --connections 1 to 10000.")
        }
        guard !apps.isEmpty, apps.allSatisfy({ (1...100).contains($0) }) else {
            throw ValidationError("--apps must be 1 to 100.")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> CitusReport {
        let options = CitusOptions(
            count: count, seconds: seconds, rounds: rounds, connections: connections, apps: apps, seed: common.seed,
            writesAccessLog: common.writesAccessLog)
        return try await CitusBenchmark(options: options, binary: try .pushRegistry(common.binary), log: log).run()
    }
}

/// The options of a comparison with a cluster.
struct CitusOptions: Codable, Sendable {
    let count: Int
    let seconds: Int
    let rounds: Int
    let connections: Int
    let apps: [Int]
    let seed: UInt64
    let writesAccessLog: Bool
}

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

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> MessagesReport {
        try await common.withCluster(AudienceBenchmark.clusterSettings) { server, binary in
            let benchmark = try MessagesBenchmark(server.connectionString, binary, count: count, seed: common.seed)
            return try await benchmark.run(rounds: rounds, seconds: seconds, log: log)
        }
    }
}

/// The figures of each round.
struct MessagesReport: BenchmarkReport {
    private static let receiptsPerSecondMin = 30_000.0
    private static let exportRatioMin = 0.5

    struct Receipts: Codable {
        let perSecond: Double
        let p99Milliseconds: Double
        /// CPU time of the service for each receipt.
        let serviceMicroseconds: Double
    }

    struct Export: Codable {
        let plainPerSecond: Double
        let withReceiptsPerSecond: Double
    }

    let count: Int
    var first: [Receipts] = []
    var again: [Receipts] = []
    var exports: [Export] = []

    var figures: [Figure] {
        [
            Figure(
                title: "receipts, ten a call", unit: "receipts/s", value: first.map(\.perSecond).median,
                target: .valueMin(Self.receiptsPerSecondMin)),
            Figure(
                title: "receipts that are duplicates", unit: "receipts/s", value: again.map(\.perSecond).median,
                otherName: "first", other: first.map(\.perSecond).median, target: .ratioMin(1)),
            Figure(
                title: "export with receipts", unit: "rows/s", value: exports.map(\.withReceiptsPerSecond).median,
                otherName: "without", other: exports.map(\.plainPerSecond).median,
                target: .ratioMin(Self.exportRatioMin)),
        ]
    }

    var text: String {
        let cpu = [("first", first), ("again", again)].map { name, rounds in
            String(format: "\(name) %.1f µs", rounds.map(\.serviceMicroseconds).median ?? 0)
        }
        let latency = [("first", first), ("again", again)].map { name, rounds in
            String(format: "\(name) %.1f ms", rounds.map(\.p99Milliseconds).median ?? 0)
        }
        return FigureTable(title: "messages to \(count) installations", figures: figures).text + """

            CPU time of the service for each receipt: \(cpu.joined(separator: ", ")). p99 of a call: \
            \(latency.joined(separator: ", ")).

            """
    }
}

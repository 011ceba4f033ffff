import ArgumentParser
import EmbeddedPostgres
import Foundation
import Logging
import RegistryTestSupport

/// A benchmark that runs alone or as a part of `all`.
protocol BenchmarkCommand: AsyncParsableCommand {
    var common: BenchmarkOptions { get }

    /// - Parameter log: receives progress lines.
    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport
}

/// The options of all benchmarks.
struct BenchmarkOptions: ParsableArguments {
    @Option(help: "The fleet's seed.")
    var seed: UInt64 = 1

    @Option(help: "The push-registry to measure. Default: the one in this program's folder.")
    var binary: String?

    @Flag(help: "Run the service without its access log, which is on by default.")
    var noAccessLog = false

    var writesAccessLog: Bool { !noAccessLog }

    /// Lends a throw-away PostgreSQL and the binary to measure.
    func withCluster<Value: Sendable>(
        _ settings: [String: String], _ body: (EmbeddedPostgres, Binary) async throws -> Value
    ) async throws -> Value {
        let binary = try Binary.pushRegistry(binary)
        let quiet = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        return try await ThrowawayCluster.with(settings: settings, logger: quiet) { try await body($0, binary) }
    }
}

extension BenchmarkCommand {
    func run() async throws {
        let report = try await measure { line in FileHandle.standardError.write(Data("\(line)\n".utf8)) }
        print(report.text, terminator: "")
    }
}

extension [Double] {
    /// The median; nil if there are no values.
    var median: Double? { isEmpty ? nil : sorted()[count / 2] }
}

/// The result of a benchmark: its figures, in the order in which they were measured first.
struct BenchmarkReport: Sendable {
    /// A value of the other side, with its name.
    typealias Other<Value> = (name: String, value: Value)

    let title: String
    private(set) var figures: [Figure] = []
    /// The conditions of the measurement, and results that are less reliable than they look; for people.
    private(set) var notes: [String] = []

    init(_ title: String) {
        self.title = title
    }

    mutating func note(_ note: String) {
        if !notes.contains(note) { notes.append(note) }
    }

    /// Adds one round of a figure.
    ///
    /// - Parameter other: measured in the same round.
    mutating func add(
        _ title: String, _ value: Double, _ unit: String, against other: Other<Double>? = nil,
        _ target: Figure.Target = .none
    ) {
        let index =
            figures.firstIndex { $0.title == title }
            ?? {
                figures.append(Figure(title: title, unit: unit, otherName: other?.name ?? "", target: target))
                return figures.count - 1
            }()
        figures[index].add(value, other?.value)
    }

    /// Adds one round of a row: its rate, and what one request costs.
    ///
    /// - Parameter target: of the rate.
    mutating func add(
        _ title: String, _ own: Measurement, against other: Other<Measurement>? = nil, _ target: Figure.Target = .none
    ) {
        let costs: [(String, String, (Measurement) -> Double?)] = [
            ("p99", "ms", \.p99Milliseconds), ("service CPU", "µs", \.serviceMicroseconds),
            ("PostgreSQL CPU", "µs", \.postgresMicroseconds),
        ]
        add(title, own.perSecond, "a second", against: other.map { ($0.name, $0.value.perSecond) }, target)
        for (what, unit, cost) in costs {
            guard let value = cost(own) else { continue }
            let compared = other.flatMap { other in cost(other.value).map { (other.name, $0) } }
            add("\(title): \(what)", value, unit, against: compared)
        }
        for (name, run) in [("", own)] + (other.map { [(", \($0.name)", $0.value)] } ?? []) {
            if run.failures > 0 { note("\(title)\(name): responses were errors") }
            if let share = run.expectedShare, share < 0.99 {
                note("\(title)\(name): only \((share * 100).rounded()) % of the responses were as expected")
            }
        }
    }

    /// Ends with a line break.
    var text: String {
        ([FigureTable(self).text] + notes).joined(separator: "\n") + "\n"
    }
}

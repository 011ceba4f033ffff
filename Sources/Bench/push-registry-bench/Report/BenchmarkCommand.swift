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

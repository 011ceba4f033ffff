import ArgumentParser
import Foundation

/// What a benchmark ends with.
protocol BenchmarkReport: Codable, Sendable {
    /// The lines of the table that holds all benchmarks.
    var figures: [Figure] { get }
    /// The same and more, for people; ends with a line break.
    var text: String { get }
}

/// A benchmark that runs by itself or among all.
protocol BenchmarkCommand: AsyncParsableCommand {
    associatedtype Result: BenchmarkReport

    var json: Bool { get }

    /// - Parameter log: takes lines that tell how far it is.
    func measure(log: @escaping @Sendable (String) -> Void) async throws -> Result
}

extension BenchmarkCommand {
    func run() async throws {
        let report = try await measure { line in FileHandle.standardError.write(Data("\(line)\n".utf8)) }
        if json { print(try report.json) } else { print(report.text, terminator: "") }
    }
}

extension BenchmarkReport {
    /// With every round's figures.
    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}

extension [Double] {
    /// The one in the middle; nil if there is none.
    var median: Double? { isEmpty ? nil : sorted()[count / 2] }
}

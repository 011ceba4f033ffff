import Foundation

/// `pgbench`: the same work as one-row prepared statements, directly on PostgreSQL.
struct PgBench {
    static let clients = 8
    static let threads = 2

    let database: String
    let postgres: ProcessUsage

    struct Result: Sendable {
        let transactionsPerSecond: Double
        let postgresMicroseconds: Double
    }

    /// Runs the script for `seconds` without a pause.
    func run(_ script: String, seconds: Int) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory
        let file = folder.appending(path: "push-registry-bench-\(UUID().uuidString).sql")
        try Data(script.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let before = try postgres.cpuSecondsWithChildren()
        let output = try await Binary.postgres("pgbench").run([
            "--no-vacuum", "--protocol=prepared", "--client=\(Self.clients)", "--jobs=\(Self.threads)",
            "--time=\(seconds)", "--file=\(file.path)", database,
        ])
        let cpu = try postgres.cpuSecondsWithChildren() - before
        let count = try Self.number(in: output, after: "number of transactions actually processed: ")
        return Result(
            transactionsPerSecond: try Self.number(in: output, after: "tps = "),
            postgresMicroseconds: cpu / max(count, 1) * 1_000_000)
    }

    private static func number(in output: String, after label: String) throws -> Double {
        guard let start = output.range(of: label)?.upperBound,
            let number = Double(output[start...].prefix { $0.isNumber || $0 == "." })
        else { throw BenchmarkFailure("pgbench printed no \(label): \(output)") }
        return number
    }
}

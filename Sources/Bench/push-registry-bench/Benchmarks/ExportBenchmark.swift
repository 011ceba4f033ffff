import ArgumentParser
import EmbeddedPostgres
import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry
import RegistryStore

/// Reads the same rows in the same order by `\copy` and by an export, in turn; then measures registrations with and
/// without a concurrent export.
struct ExportBenchmark {
    private static let ratioMin = 0.7
    private static let connections = 64
    /// The most installations that register repeatedly.
    private static let poolMax = 25_000

    let database: BenchmarkDatabase
    private let psql: Binary

    init(_ database: BenchmarkDatabase) throws {
        self.database = database
        psql = try Binary.postgres("psql")
    }

    func run(rounds: Int, seconds: Int, log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        let fleet = try await database.load(log: log)
        return try await ServerProcess.with(database.binary, database: database.connectionString) { server in
            try await measure(fleet, server, rounds: rounds, seconds: seconds, log)
        }
    }

    private func measure(
        _ fleet: Fleet, _ server: ServerProcess, rounds: Int, seconds: Int, _ log: @escaping @Sendable (String) -> Void
    ) async throws -> BenchmarkReport {
        let key = try await server.makeKey(of: fleet.app.id, roles: ["sender", "service"])
        let client = ExportClient(port: server.port, app: "\(fleet.app.id)", key: key)
        var report = BenchmarkReport("export of \(fleet.count) installations")
        let before = try server.usage.residentMegabytes()
        for _ in 1...rounds {
            for format in ExportFormat.allCases {
                try await compare(format, of: fleet.app.number, server, client, &report, log)
            }
        }
        report.add(
            "export, memory at its highest", try server.usage.highestResidentMegabytes(), "MB",
            against: ("before", before))
        let load = mixedRegistrations(fleet, key)
        for _ in 1...rounds {
            let alone = try await register(load, server, seconds)
            let meanwhile = try await client.whileExporting("ndjson") { try await register(load, server, seconds) }
            log("\(Int(alone.perSecond)) registrations a second, \(Int(meanwhile.perSecond)) while an export runs")
            report.add("registrations while an export runs", meanwhile, against: ("alone", alone))
        }
        report.note(
            "Active installations of a fleet, with all columns for sending, ordered by id. About half of the "
                + "registrations change settings.")
        return report
    }
}

// MARK: - Exports

extension ExportBenchmark {
    private enum ExportFormat: String, CaseIterable {
        case ndjson, csv

        /// The columns of an export by default.
        var columns: String {
            switch self {
            case .ndjson: "install_id, provider, token, p256dh, auth, generation"
            case .csv: "install_id, provider, token, generation"
            }
        }

        var copyOptions: String { self == .csv ? " (FORMAT csv, HEADER)" : "" }
    }

    private func compare(
        _ format: ExportFormat, of app: AppNumber, _ server: ServerProcess, _ client: ExportClient,
        _ report: inout BenchmarkReport, _ log: (String) -> Void
    ) async throws {
        let (copied, copySeconds) = try await timed { try await copy(format, of: app) }
        let before = try server.usage.cpuSeconds()
        let (lines, seconds) = try await timed { try await client.run(format.rawValue) }
        let cpuSeconds = try server.usage.cpuSeconds() - before
        let rows = lines - (format == .csv ? 1 : 0)
        guard rows == copied else { throw BenchmarkFailure("\(rows) rows exported, \(copied) copied") }
        let (own, other) = (Double(rows) / seconds, Double(copied) / copySeconds)
        report.add("export, \(format)", own, "rows/s", against: ("\\copy", other), .ratioMin(Self.ratioMin))
        report.add("export, \(format): service CPU a row", cpuSeconds / Double(rows) * 1_000_000, "µs")
        log("\(format): \(Int(own)) rows a second, \\copy \(Int(other))")
    }

    private func timed<Value>(_ body: () async throws -> Value) async throws -> (Value, Double) {
        let start = ContinuousClock.now
        let value = try await body()
        return (value, (ContinuousClock.now - start) / .seconds(1))
    }

    private func copy(_ format: ExportFormat, of app: AppNumber) async throws -> Int {
        let query = """
            SELECT \(format.columns) FROM installation WHERE app_id = \(app.rawValue) AND state = 'active'
            ORDER BY install_id
            """
        let output = try await psql.run([
            database.connectionString, "-X", "-v", "ON_ERROR_STOP=1", "-c",
            #"\copy (\#(query)) TO '/dev/null'\#(format.copyOptions)"#,
        ])
        guard let count = output.split(whereSeparator: \.isWhitespace).last.flatMap({ Int($0) }) else {
            throw BenchmarkFailure("unexpected output of \\copy: \(output)")
        }
        return count
    }
}

// MARK: - Registrations

extension ExportBenchmark {
    /// Each installation registers twice with each of two settings: half of the registrations change settings.
    private func mixedRegistrations(_ fleet: Fleet, _ key: String) -> RequestFile {
        let writer = RegistrationWriter(app: fleet.app.id, key: key)
        let step = max(1, fleet.count / Self.poolMax)
        return RequestFile(stride(from: 0, to: fleet.count, by: step), variants: 4, .cyclic) { number, variant in
            writer.request(fleet[number], settings: fleet[number].settings.toggled(1 + variant / 2))
        }
    }

    private func register(
        _ requests: RequestFile, _ server: ServerProcess, _ seconds: Int
    ) async throws -> Measurement {
        let wrk = Wrk(port: server.port, connections: Self.connections)
        try await wrk.warmUp(requests, for: .seconds(RunOptions.warmUpSeconds))
        let before = try server.usage.cpuSeconds()
        let result = try await wrk.run(requests, seconds: seconds)
        guard result.failures == 0 else { throw BenchmarkFailure("\(result.failures) registrations failed") }
        return Measurement(result, service: try server.usage.cpuSeconds() - before)
    }
}

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

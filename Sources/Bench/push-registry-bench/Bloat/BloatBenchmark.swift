import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry

/// A fleet that registers many times, and the size of the database before and after.
struct BloatBenchmark {
    private static let connections = 64
    /// The time limit for registering the fleet once.
    private static let secondsMax = 1_800

    let database: BenchmarkDatabase
    let times: Int

    private var count: Int { database.count }

    func run(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try FileLimit.raise()
        let fleet = try await database.load(writesHistory: true, log: log)
        let (before, earlier) = (try await sizes(), try await updates())
        try await registerAll(fleet, log)
        let (after, later) = (try await sizes(), try await updates())
        var report = BenchmarkReport("\(count) installations that registered \(times) times")
        for (index, part) in Self.parts.enumerated() {
            report.add(part.title, after[index], "MB", against: ("before", before[index]), part.target)
        }
        let heapOnly = Double(later.heapOnly - earlier.heapOnly) / Double(max(1, later.all - earlier.all))
        report.note(
            "\(Int((heapOnly * 100).rounded())) % of the registrations were heap-only updates, which touch no index; "
                + "autovacuum as by default.")
        return report
    }

    private func registerAll(_ fleet: Fleet, _ log: @Sendable (String) -> Void) async throws {
        try await ServerProcess.with(database.binary, database: database.connectionString) { server in
            let writer = RegistrationWriter(app: fleet.app.id, key: try await server.makeKey(of: fleet.app.id))
            for time in 1...times {
                let start = ContinuousClock.now
                try await register(requests(fleet, writer, time: time), server)
                let perSecond = Double(count) / ((ContinuousClock.now - start) / .seconds(1))
                log("registered \(time) of \(times) times, \(Int(perSecond)) a second")
            }
        }
    }

    /// Each installation once, with other settings than the time before; a tenth of them with another authorization.
    private func requests(_ fleet: Fleet, _ writer: RegistrationWriter, time: Int) -> RequestFile {
        RequestFile((0..<count).shuffled(), .once) { number, _ in
            let installation = fleet[number]
            var settings = installation.settings.toggled(time)
            if number % 10 == time % 10 {
                settings.authorizationStatus = settings.authorizationStatus == .denied ? .authorized : .denied
            }
            return writer.request(installation, settings: settings)
        }
    }

    private func register(_ requests: RequestFile, _ server: ServerProcess) async throws {
        let result = try await Wrk(port: server.port, connections: Self.connections).run(
            requests, expecting: .updated, seconds: Self.secondsMax)
        guard result.expected == requests.count, result.failures == 0 else {
            throw BenchmarkFailure("only \(result.expected) of \(requests.count) registrations changed settings")
        }
    }

    /// Of each part, in megabytes.
    private func sizes() async throws -> [Double] {
        try await PostgresSession.withSession(database.session) { session in
            try Self.parts.map { part in
                let bytes: Int64 = try session.execute("SELECT (\(sql: part.bytes))::bigint")[0].decode(0)
                return Double(bytes) / 1_048_576
            }
        }
    }

    private static let parts: [(title: String, bytes: PostgresSQL, target: Figure.Target)] = [
        ("installations, the table", "pg_table_size('installation')", .ratioMax(growthMax)),
        ("installations, their indexes", "pg_indexes_size('installation')", .ratioMax(growthMax)),
        ("the roll-up", tables(matching: "^rollup_"), .none),
        ("history", tables(matching: "^(token_event|settings_snapshot)"), .none),
        ("the whole database", "pg_database_size(current_database())", .none),
    ]
    private static let growthMax = 2.0

    private static func tables(matching pattern: StaticString) -> PostgresSQL {
        """
        SELECT sum(pg_total_relation_size(oid)) FROM pg_class
        WHERE relname ~ \(literal: "\(pattern)") AND relkind = 'r'
        """
    }

    /// PostgreSQL's own counters. Each session reports to them when it is idle or ends.
    private func updates() async throws -> (all: Int64, heapOnly: Int64) {
        try await PostgresSession.withSession(database.session) { session in
            let row = try session.execute(
                "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'installation'")[0]
            return (try row.decode(0), try row.decode(1))
        }
    }
}

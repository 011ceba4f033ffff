import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry

/// A fleet that registers many times, and the size of the database before and after.
struct BloatBenchmark {
    private static let connections = 64
    /// The time limit for registering the fleet once.
    private static let secondsMax = 1_800

    private let connectionString: String
    private let database: PostgresConfiguration
    private let binary: Binary
    private let count: Int
    private let times: Int
    private let seed: UInt64

    init(_ connectionString: String, _ binary: Binary, count: Int, times: Int, seed: UInt64) throws {
        self.connectionString = connectionString
        database = try PostgresConfiguration(connectionString, applicationName: "push-registry-bench")
        self.binary = binary
        self.count = count
        self.times = times
        self.seed = seed
    }

    func run(log: @escaping @Sendable (String) -> Void) async throws -> BloatReport {
        try FileLimit.raise()
        try await binary.run(["migrate"], environment: ["PUSH_REGISTRY_DATABASE_URL": connectionString])
        let fleet = Fleet(
            seed: seed, app: try await App.find(AppID("com.example.bench"), in: database), count: count, asOf: .now,
            lastSeen: .withinSeconds(3_600), links: try TimeZoneLinks())
        log("loading \(count) installations")
        try await FleetLoader().load(fleet, into: database)
        try await sql("VACUUM ANALYZE")
        let (before, earlier) = (try await sizes(), try await updates())
        try await registerAll(fleet, log)
        let (after, later) = (try await sizes(), try await updates())
        return BloatReport(
            count: count, times: times, before: before, after: after,
            heapOnlyShare: Double(later.heapOnly - earlier.heapOnly) / Double(max(1, later.all - earlier.all)))
    }

    private func registerAll(_ fleet: Fleet, _ log: @Sendable (String) -> Void) async throws {
        let output = FileManager.default.temporaryDirectory.appending(path: "push-registry-bench-\(getpid()).log")
        defer { try? FileManager.default.removeItem(at: output) }
        try await ServerProcess.with(binary, database: connectionString, log: output) { server in
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

    private func sizes() async throws -> BloatReport.Sizes {
        try await PostgresSession.withSession(database) { session in
            let row = try session.execute(Self.sizes)[0]
            return BloatReport.Sizes(
                installations: try row.decode(0), indexes: try row.decode(1), rollUp: try row.decode(2),
                history: try row.decode(3), database: try row.decode(4))
        }
    }

    private static let sizes: PostgresStatement = """
        SELECT pg_table_size('installation') / 1048576::float8, pg_indexes_size('installation') / 1048576::float8,
            (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname ~ '^rollup_' AND relkind = 'r')::float8
                / 1048576,
            (SELECT sum(pg_total_relation_size(oid)) FROM pg_class
                WHERE relname ~ '^(token_event|settings_snapshot)' AND relkind = 'r')::float8 / 1048576,
            pg_database_size(current_database()) / 1048576::float8
        """

    /// PostgreSQL's own counters. Each session reports to them when it is idle or ends.
    private func updates() async throws -> (all: Int64, heapOnly: Int64) {
        try await PostgresSession.withSession(database) { session in
            let row = try session.execute(
                "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'installation'")[0]
            return (try row.decode(0), try row.decode(1))
        }
    }

    private func sql(_ script: String) async throws {
        try await PostgresSession.withSession(database) { try $0.run(script: script) }
    }
}

import ArgumentParser
import EmbeddedPostgres
import EventLoop
import FleetGenerator
import Foundation
import Logging
import PostgresClient
import PushRegistry
import RegistryJobs
import RegistryStore

/// Runs the same queries on fleets of several sizes. Each fleet grows into the next.
struct AudienceBenchmark {
    static let clusterSettings = [
        "shared_buffers": "2GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min", "fsync": "on",
        "maintenance_work_mem": "512MB",
    ]
    private static let baselineRuns = 5

    private let connectionString: String
    private let database: PostgresConfiguration
    private let counts: [Int]
    private let times: Int
    private let seed: UInt64

    init(_ connectionString: String, counts: [Int], times: Int, seed: UInt64) throws {
        self.connectionString = connectionString
        database = try PostgresConfiguration(connectionString, applicationName: "push-registry-bench")
        self.counts = counts
        self.times = times
        self.seed = seed
    }

    func run(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        let app = try await App.find(AppID("com.example.bench"), in: database)
        var report = BenchmarkReport("audiences of \(counts.last ?? 0) installations")
        var loaded = 0
        var smallest: [Timing] = []
        for count in counts {
            log("loading \(count) installations")
            try await load(loaded..<count, of: app)
            let topic = try await leaveTopic(of: app)
            try await giveTokens(to: app)
            loaded = count
            log("querying")
            report.note("\(try await cells()) cells at \(count) installations.")
            let timings = try await measure(app, topic, log: log)
            if smallest.isEmpty { smallest = timings }
            for (timing, first) in zip(timings, smallest) { report.add(timing, first, of: count, than: counts[0]) }
        }
        report.note("Each query ran \(times) times, sequentially.")
        return report
    }

    private func load(_ numbers: Range<Int>, of app: App) async throws {
        let fleet = Fleet(
            seed: seed, app: app, count: numbers.upperBound, asOf: .now, lastSeen: .fourMonths,
            links: try TimeZoneLinks())
        var loader = FleetLoader()
        loader.writesHistory = false
        try await script("DROP INDEX IF EXISTS audience_best")
        try await loader.load(fleet, numbers, into: database)
        try await script(AudienceQuery.bestIndex)
        // VACUUM cannot run in a transaction with other statements.
        try await script("VACUUM ANALYZE")
    }

    /// Lets a tenth of the installations leave a topic.
    private func leaveTopic(of app: App) async throws -> Topic {
        try await PostgresSession.withSession(database) { session in
            let number: Int32 = try session.execute(
                """
                INSERT INTO topic (app_id, slug, name, is_in, is_locked)
                VALUES (\(app.number.rawValue), 'bench', 'Topic', true, false)
                ON CONFLICT (app_id, slug) DO UPDATE SET name = excluded.name RETURNING number
                """)[0].decode(0)
            _ = try session.execute(
                """
                WITH changed AS (
                    UPDATE installation SET topic_choices = ARRAY[\(-number)], topics = ARRAY[\(-number)],
                        revision = revision + 1
                    WHERE app_id = \(app.number.rawValue) AND topics IS NULL AND hashtext(install_id) % 10 = 0
                    RETURNING app_id, cell, session_expires_at
                )
                INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)
                SELECT app_id, pg_current_xact_id()::text::bigint, \(-number), cell, session_expires_at, count(*),
                    count(*)
                FROM changed GROUP BY app_id, cell, session_expires_at
                """)
            _ = try RollUpFold.runAll(in: session)
            try session.run(script: "VACUUM ANALYZE")
            return Topic(
                number: TopicNumber(number), slug: try TopicSlug("bench"),
                content: try Topic.Content(
                    name: "Topic", description: nil, category: nil, isInByDefault: true, isLocked: false))
        }
    }

    /// Gives a tenth of the installations of APNs a typed token.
    private func giveTokens(to app: App) async throws {
        try await PostgresSession.withSession(database) { session in
            let ids = try session.execute(
                """
                INSERT INTO typed_token (app_id, install_id, kind, name, provider, token, token_sha256, received_at)
                SELECT app_id, install_id, 'voip', '', 'apns', left(encode(sha256(token_sha256), 'hex'), 32),
                    sha256(convert_to(left(encode(sha256(token_sha256), 'hex'), 32), 'UTF8')), now()
                FROM installation
                WHERE app_id = \(app.number.rawValue) AND provider = 'apns' AND hashtext(install_id) % 10 = 1
                ON CONFLICT DO NOTHING RETURNING install_id
                """
            ).map { try InstallID($0.decode(0)) }
            _ = try session.execute(RollUpDeltaStatements.tokens(of: ids, step: 1, in: app.number))
            _ = try RollUpFold.runAll(in: session)
            try session.run(script: "VACUUM ANALYZE")
        }
    }

    private func script(_ script: String) async throws {
        try await PostgresSession.withSession(database) { try $0.run(script: script) }
    }

    private func cells() async throws -> Int {
        try await PostgresSession.withSession(database) { session in
            try session.execute("SELECT count(*) FROM rollup_cube WHERE topic = 0")[0].decode(0)
        }
    }

    private func measure(
        _ app: App, _ topic: Topic, log: @Sendable (String) -> Void
    ) async throws -> [Timing] {
        let loop = EventLoop(name: "audiences")
        defer { loop.stop() }
        let limits = AudienceStoreLimits()
        let client = PostgresClient(
            try PostgresConfiguration(connectionString, settings: limits.sessionSettings), on: loop,
            limits: limits.pool, logger: Logger(label: "audiences") { _ in SwiftLogNoOpLogHandler() })
        // Ends with this scope.
        async let _ = client.run()
        let cubes = CubeCache()
        let store = PostgresAudienceStore(postgres: client, limits: limits, cubes: cubes)
        let start = ContinuousClock.now
        _ = try await store.count(
            Audience(app: app.number, filter: .everybody, include: .reachable), explains: false)
        log("first count of the process: \(start.duration(to: .now)), memory of the cube: \(cubes.bytes) bytes")
        var timings: [Timing] = []
        for query in try AudienceQuery.all(topic) {
            timings.append(try await measure(query, of: app, topic, store))
        }
        return timings
    }

    private func measure(
        _ query: AudienceQuery, of app: App, _ topic: Topic, _ store: PostgresAudienceStore
    ) async throws -> Timing {
        let audience = Audience(
            app: app.number, filter: query.filter, include: .reachable, topics: TopicCatalogue([topic]),
            tokens: query.kind.map { HandedOutTokens($0, name: nil) })
        var milliseconds: [Double] = []
        for number in 0..<times + 5 {
            let start = ContinuousClock.now
            if query.by.isEmpty {
                _ = try await store.count(audience, explains: false)
            } else {
                _ = try await store.breakDown(audience, by: query.by, limit: 100, explains: false)
            }
            // The first five runs warm up.
            if number >= 5 { milliseconds.append((ContinuousClock.now - start) / .milliseconds(1)) }
        }
        let (baseline, count) = try await baseline(query, of: app)
        guard try await store.count(audience, explains: false).count == count else {
            throw BenchmarkFailure("\(query.title): the roll-up's count is different")
        }
        return Timing(query: query, milliseconds: milliseconds.sorted(), baseline: baseline)
    }

    fileprivate struct Timing {
        let query: AudienceQuery
        /// Ascending.
        let milliseconds: [Double]
        /// The time of count(*) on the best index.
        let baseline: Double

        var median: Double { milliseconds[milliseconds.count / 2] }
    }

    /// The median of several runs.
    private func baseline(_ query: AudienceQuery, of app: App) async throws -> (Double, Int64) {
        try await PostgresSession.withSession(database) { session in
            var milliseconds: [Double] = []
            var count: Int64 = 0
            for _ in 0..<Self.baselineRuns {
                let start = ContinuousClock.now
                count = try session.execute(query.baseline(of: app.number))[0].decode(0)
                milliseconds.append((ContinuousClock.now - start) / .milliseconds(1))
            }
            return (milliseconds.sorted()[Self.baselineRuns / 2], count)
        }
    }
}

extension BenchmarkReport {
    /// The limit of the ratio of a query's median to that of the smallest fleet.
    private static let growthMax = 1.2

    fileprivate mutating func add(
        _ timing: AudienceBenchmark.Timing, _ first: AudienceBenchmark.Timing, of size: Int, than smallest: Int
    ) {
        let title = "\(timing.query.title), \(size)"
        add(title, timing.median, "ms", against: ("count(*)", timing.baseline), .valueMax(timing.query.medianMax))
        guard size > smallest, timing.query.isSmall else { return }
        add(
            "\(title): growth", timing.median, "ms", against: ("of \(smallest)", first.median),
            .ratioMax(Self.growthMax))
    }
}

struct AudiencesCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "audiences",
        abstract: "Measure audience counts and breakdowns from the roll-up.",
        discussion: """
            Starts a throw-away PostgreSQL, loads a fleet of each size in turn, and runs the queries one after the \
            other, with the service's own code. The other side counts the same installations by count(*) with an index \
            that covers all columns it needs.

            Five million installations take about ten minutes and 6 GB.
            """)

    @Option(parsing: .upToNextOption, help: "The fleets' sizes, ascending.")
    var counts = [500_000, 5_000_000]

    @Option(help: "How often each query runs.")
    var times = 100

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard let first = counts.first, first >= 1_000, counts == counts.sorted(), times > 0 else {
            throw ValidationError("--counts must ascend from 1000, --times must be above 0.")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(AudienceBenchmark.clusterSettings) { server, binary in
            try await binary.run(["migrate"], environment: ["PUSH_REGISTRY_DATABASE_URL": server.connectionString])
            let benchmark = try AudienceBenchmark(
                server.connectionString, counts: counts, times: times, seed: common.seed)
            return try await benchmark.run(log: log)
        }
    }
}

import EventLoop
import FleetGenerator
import Foundation
import Logging
import PostgresClient
import PushRegistry
import RegistryStore

/// Asks the same questions of fleets of several sizes, one of which grows into the next.
struct AudienceBenchmark {
    static let clusterSettings = [
        "shared_buffers": "2GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min", "fsync": "on",
        "maintenance_work_mem": "512MB",
    ]
    private static let rivalTimes = 5

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

    func run(log: @escaping @Sendable (String) -> Void) async throws -> AudienceReport {
        let app = try await App.find(AppID("com.example.bench"), in: database)
        var report = AudienceReport(counts: counts, times: times)
        var loaded = 0
        for count in counts {
            log("loading \(count) installations")
            try await load(loaded..<count, of: app)
            loaded = count
            log("asking")
            report.cells.append(try await cells())
            report.answers.append(try await ask(app))
        }
        return report
    }

    private func load(_ numbers: Range<Int>, of app: App) async throws {
        let fleet = Fleet(
            seed: seed, app: app, count: numbers.upperBound, asOf: .now, silence: .spread, links: try TimeZoneLinks())
        var loader = FleetLoader()
        loader.writesHistory = false
        try await script("DROP INDEX IF EXISTS audience_best")
        try await loader.load(fleet, numbers, into: database)
        try await script(AudienceQuestion.bestIndex)
        // In a transaction of its own.
        try await script("VACUUM ANALYZE")
    }

    private func script(_ script: String) async throws {
        try await PostgresSession.withSession(database) { try $0.run(script: script) }
    }

    private func cells() async throws -> Int {
        try await PostgresSession.withSession(database) { session in
            try session.execute("SELECT count(*) FROM rollup_cube")[0].decode(0)
        }
    }

    private func ask(_ app: App) async throws -> [AudienceReport.Answer] {
        let loop = EventLoop(name: "audiences")
        defer { loop.stop() }
        let limits = AudienceStoreLimits()
        let client = PostgresClient(
            try PostgresConfiguration(connectionString, settings: limits.sessionSettings), on: loop,
            limits: limits.pool, logger: Logger(label: "audiences") { _ in SwiftLogNoOpLogHandler() })
        // Ends with this scope.
        async let _ = client.run()
        let store = PostgresAudienceStore(postgres: client, limits: limits)
        let postgres = try await PostgresSession.withSession(database) { session in
            ProcessUsage(
                processID: try ProcessUsage(processID: session.execute("SELECT pg_backend_pid()")[0].decode(0)).parent()
            )
        }
        var answers: [AudienceReport.Answer] = []
        for question in try AudienceQuestion.all() { answers.append(try await ask(question, of: app, store, postgres)) }
        return answers
    }

    private func ask(
        _ question: AudienceQuestion, of app: App, _ store: PostgresAudienceStore, _ postgres: ProcessUsage
    ) async throws -> AudienceReport.Answer {
        let audience = Audience(app: app.number, filter: question.filter, include: .reachable)
        var milliseconds: [Double] = []
        var cpuBefore = 0.0
        for number in 0..<times + 5 {
            if number == 5 { cpuBefore = try postgres.cpuSecondsWithChildren() }
            let start = ContinuousClock.now
            if question.by.isEmpty {
                _ = try await store.count(audience, explains: false)
            } else {
                _ = try await store.breakDown(audience, by: question.by, limit: 100, explains: false)
            }
            // The first ones warm up.
            if number >= 5 { milliseconds.append((ContinuousClock.now - start) / .milliseconds(1)) }
        }
        let cpu = (try postgres.cpuSecondsWithChildren() - cpuBefore) * 1_000 / Double(times)
        let (rival, count) = try await rival(question, of: app)
        guard try await store.count(audience, explains: false).count == count else {
            throw BenchmarkFailure("\(question.title): the roll-up counts otherwise")
        }
        return AudienceReport.Answer(
            title: question.title, dimensions: question.dimensions, milliseconds: milliseconds.sorted(),
            cpuMilliseconds: cpu,
            rival: rival)
    }

    /// The middle one of some.
    private func rival(_ question: AudienceQuestion, of app: App) async throws -> (Double, Int64) {
        try await PostgresSession.withSession(database) { session in
            var milliseconds: [Double] = []
            var count: Int64 = 0
            for _ in 0..<Self.rivalTimes {
                let start = ContinuousClock.now
                count = try session.execute(question.rival(of: app.number))[0].decode(0)
                milliseconds.append((ContinuousClock.now - start) / .milliseconds(1))
            }
            return (milliseconds.sorted()[Self.rivalTimes / 2], count)
        }
    }
}

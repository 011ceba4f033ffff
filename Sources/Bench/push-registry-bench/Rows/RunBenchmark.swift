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
import RegistryTestSupport

/// One run: a throw-away PostgreSQL, a fleet in it, and both sides in turn.
struct RunBenchmark {
    /// The settings of the one cluster that both sides use. Everything else has PostgreSQL's default; `fsync` and
    /// `synchronous_commit` are on.
    static func clusterSettings(_ options: RunOptions) -> [String: String] {
        [
            "fsync": "on", "shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min",
            "max_connections": "100", "commit_delay": "\(options.flushDelayMicroseconds)", "commit_siblings": "0",
        ]
    }
    /// Half of the app's touch interval, so that no repeated registration is due to be touched.
    private static let seenWithinSeconds = 12 * 3_600

    let options: RunOptions
    let binary: Binary
    let log: @Sendable (String) -> Void

    func run(_ report: inout BenchmarkReport) async throws {
        try FileLimit.raise()
        let empty = report
        report = try await ThrowawayCluster.with(
            settings: Self.clusterSettings(options), logger: Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        ) { server in
            var report = empty
            try await run(on: server, &report)
            for note in try notes() { report.note(note) }
            return report
        }
    }

    private func notes() throws -> [String] {
        let settings = Self.clusterSettings(options).sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
        return [
            "Medians of \(options.rounds) rounds of \(options.seconds) s; \(options.count) installations, "
                + "\(options.connections) HTTP connections, pgbench with \(PgBench.clients) clients, one PostgreSQL "
                + "for both: \(settings.joined(separator: " ")).",
            "The disk makes 8 KB durable in \(Int(try FlushTime.measure())) µs, which is most of pgbench's wait; "
                + "\(options.flushDelayMicroseconds) µs were added to each flush of the WAL.",
            "Measured \(Date.now.formatted(.iso8601)) on \(ProcessInfo.processInfo.activeProcessorCount) cores, which "
                + "both sides and wrk, the load generator, share. Feedback is counted in items, "
                + "\(RowRequests.feedbackItems) a call. CPU is user and system time per request: of the service's "
                + "process, and of all of PostgreSQL's. The service's access log was "
                + "\(options.writesAccessLog ? "on" : "off").",
        ]
    }

    private func run(on server: EmbeddedPostgres, _ report: inout BenchmarkReport) async throws {
        let database = try PostgresConfiguration(server.connectionString, applicationName: "push-registry-bench")
        log("migrating")
        try await binary.run(["migrate"], environment: ["PUSH_REGISTRY_DATABASE_URL": server.connectionString])
        let fleet = Fleet(
            seed: options.seed, app: try await App.find(AppID("com.example.bench"), in: database), count: options.count,
            asOf: .now, lastSeen: .withinSeconds(Self.seenWithinSeconds), links: try TimeZoneLinks())
        try await fill(fleet, database)
        let scripts = try await PostgresSession.withSession(database) { [options] session in
            try PgBenchScript(session, app: fleet.app, seed: options.seed, count: options.count)
        }
        let superuser = try PostgresConfiguration(server.superuserConnectionString)
        let side = RowBenchmark(
            options: options, fleet: fleet, scripts: scripts, database: server.connectionString, superuser: superuser,
            postgres: try await .ofPostmaster(database), binary: binary, log: log)
        try await side.measure(&report)
    }

    private func fill(_ fleet: Fleet, _ database: PostgresConfiguration) async throws {
        let start = ContinuousClock.now
        log("loading \(fleet.count) installations")
        try await FleetLoader().load(fleet, into: database)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        log("loaded \(Int(Double(fleet.count) / seconds)) a second")
        try await PostgresSession.withSession(database) { session in
            _ = try RollUpFold.runAll(in: session)
            try session.run(script: "VACUUM ANALYZE")
        }
    }
}

/// The limit of open files of a process.
enum FileLimit {
    /// Raises this process's limit to the maximum; child processes inherit it.
    static func raise() throws {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// The time that the disk needs to make 8 KB durable, measured like `pg_test_fsync`.
///
/// pgbench commits each upsert separately, so its rate depends on this time. A disk that responds from memory within 50
/// µs makes pgbench several times faster than one that needs a millisecond, and the ratios shrink.
enum FlushTime {
    private static let samples = 200

    /// The median in microseconds, for a file on the disk of the throw-away clusters.
    static func measure() throws -> Double {
        let file = FileManager.default.temporaryDirectory.appending(path: "push-registry-flush-\(UUID().uuidString)")
        let descriptor = open(file.path(percentEncoded: false), O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer {
            close(descriptor)
            try? FileManager.default.removeItem(at: file)
        }
        let page = [UInt8](repeating: 1, count: 8_192)
        let times = (0..<samples).map { _ in
            ContinuousClock().measure {
                _ = pwrite(descriptor, page, page.count, 0)
                _ = fdatasync(descriptor)
            } / .microseconds(1)
        }
        return times.sorted()[samples / 2]
    }
}

struct RunCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Measure registrations and the HTTP engine.",
        discussion: """
            Starts a throw-away PostgreSQL with fsync on, loads a fleet, and measures in turn, round after round, on \
            the same tables: pgbench with one-row prepared statements on 8 connections, and "push-registry serve", the \
            release binary beside this one, under load by wrk. Prints a table of the medians.

            Rows: unchanged, changed and first registrations; takeover (a new installation registers with the token of \
            another), ownerChange (an installation registers for another user), logout, topics (a PATCH of an \
            installation's choices) and post (a notification for one installation), all compared with changed \
            registrations of the same run; fetch (of notifications, with nothing missed), compared with unchanged \
            registrations; feedback (calls of 10,000 items, each of which changes an installation); healthz (GET \
            /healthz); engine (the HTTP engine alone, without a database: TLS compared with plain, and with \
            Hummingbird 2, which --with-hummingbird downloads and builds in .build-hummingbird; once built, it is \
            always measured).

            pgbench has less to do: no events, no history, one statement that updates in place. Compare ratios, and \
            only within one run: everything shares this machine's cores.
            """)

    @Option(parsing: .upToNextOption, help: "The rows to measure.")
    var rows = [RowList.all]

    @Option(help: "Installations in the database.")
    var count: Int?

    @Option(help: "Seconds that each measurement lasts.")
    var seconds: Int?

    @Option(help: "Rounds; the medians count.")
    var rounds: Int?

    @Option(help: "HTTP connections.")
    var connections = 64

    @Option(
        help: """
            Microseconds to add to each flush of the WAL (commit_delay), for both sides: for a disk that responds from \
            memory, where production's takes a millisecond.
            """)
    var flushDelay = 0

    @Flag(help: "A short test run: 50,000 installations, one round of 2 seconds.")
    var quick = false

    @Flag(help: "Build the Hummingbird 2 server for the row engine; takes minutes the first time.")
    var withHummingbird = false

    @OptionGroup var common: BenchmarkOptions

    private var options: RunOptions {
        var options = RunOptions()
        if quick {
            (options.count, options.seconds, options.rounds) = (50_000, 2, 1)
            options.idleConnections = 1_000
        }
        options.rows = rows.flatMap(\.rows)
        options.count = count ?? options.count
        options.seconds = seconds ?? options.seconds
        options.rounds = rounds ?? options.rounds
        (options.connections, options.seed) = (connections, common.seed)
        options.flushDelayMicroseconds = flushDelay
        options.writesAccessLog = common.writesAccessLog
        return options
    }

    func validate() throws {
        guard options.count >= 1_000 else { throw ValidationError("--count must be 1000 or more.") }
        guard options.seconds > 0, options.rounds > 0, (1...10_000).contains(connections) else {
            throw ValidationError("--seconds and --rounds must be above 0, --connections 1 to 10000.")
        }
        guard (0...100_000).contains(flushDelay) else { throw ValidationError("--flush-delay must be 0 to 100000.") }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        var report = BenchmarkReport(
            flushDelay == 0 ? "registrations" : "registrations, \(flushDelay) µs added to each flush")
        if options.wantsDatabase {
            try await RunBenchmark(options: options, binary: try .pushRegistry(common.binary), log: log).run(&report)
        }
        if options.wants(.engine) {
            try await EngineBenchmark(options, buildsHummingbird: withHummingbird, log: log).run(&report)
        }
        return report
    }
}

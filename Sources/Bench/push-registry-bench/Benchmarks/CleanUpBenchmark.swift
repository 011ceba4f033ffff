import ArgumentParser
import EmbeddedPostgres
import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry
import RegistryJobs
import RegistryStore

/// Measures the clean-up and bare SQL in turn, each with another tenth of one fleet; then the clean-up while
/// installations of the last tenth register.
struct CleanUpBenchmark {
    /// A round uses three tenths.
    static let roundsMax = 3
    private static let timeRatioMax = 1.5
    private static let latencyRatioMax = 2.0
    private static let unaffectedTenth = 9
    private static let aloneSeconds = 5

    let database: BenchmarkDatabase

    func run(rounds: Int, log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        let fleet = try await load(log)
        let postgres = try await ProcessUsage.ofPostmaster(database.session)
        var report = BenchmarkReport("a tenth of \(database.count) installations becomes stale")
        for round in 0..<rounds {
            try await age(tenth: 3 * round)
            let bare = try await measure(postgres) {
                try await database.run(Self.bareSQL)
                try await fold()
            }
            try await age(tenth: 3 * round + 1)
            let job = try await measure(postgres) { try await cleanUp() }
            report.add("clean-up", job.seconds, "s", against: ("bare SQL", bare.seconds), .ratioMax(Self.timeRatioMax))
            report.add("clean-up: PostgreSQL's CPU", job.cpu, "s", against: ("bare SQL", bare.cpu))
            log(String(format: "bare SQL %.1f s, clean-up %.1f s", bare.seconds, job.seconds))
            try await age(tenth: 3 * round + 2)
            try await measureLatency(fleet, &report, log)
        }
        report.note(
            "Medians of \(rounds) rounds. Registrations use \(CleanUpLoad.connections) connections, and 19 of 20 "
                + "change nothing.")
        return report
    }

    private func measure(
        _ postgres: ProcessUsage, _ body: () async throws -> Void
    ) async throws -> (seconds: Double, cpu: Double) {
        let before = try postgres.cpuSecondsWithChildren()
        let seconds = try await ContinuousClock().measure { try await body() } / .seconds(1)
        return (seconds, try postgres.cpuSecondsWithChildren() - before)
    }

    private func measureLatency(
        _ fleet: Fleet, _ report: inout BenchmarkReport, _ log: (String) -> Void
    ) async throws {
        let (alone, beside, seconds) = try await ServerProcess.with(
            database.binary, database: database.connectionString
        ) {
            let load = try await CleanUpLoad(fleet, $0) { Self.tenth(of: $0) == Self.unaffectedTenth }
            let alone = try await load.p99 { try await Task.sleep(for: .seconds(Self.aloneSeconds)) }
            let start = ContinuousClock.now
            let beside = try await load.p99 { try await cleanUp() }
            return (alone, beside, (ContinuousClock.now - start) / .seconds(1))
        }
        report.add(
            "registrations' p99 meanwhile", beside, "ms", against: ("without", alone), .ratioMax(Self.latencyRatioMax))
        report.add("clean-up during registrations", seconds, "s")
        log(String(format: "p99 %.2f ms alone, %.2f ms beside", alone, beside))
    }

    /// All installations were seen within hours. The rebuild counts the rows that this function changes by SQL.
    private func load(_ log: (String) -> Void) async throws -> Fleet {
        let fleet = try await database.load(log: log)
        // Only the installations that this benchmark makes old may be due.
        try await database.run(
            """
            UPDATE installation SET state = 'active', probably_replaced_by = NULL, session_expires_at = NULL
            WHERE state <> 'active' OR probably_replaced_by IS NOT NULL OR session_expires_at IS NOT NULL
            """)
        _ = try await RollUpRebuild(database.session).run()
        return fleet
    }

    private func age(tenth: Int) async throws {
        try await database.run(
            """
            UPDATE installation SET created_at = created_at - interval '70 days',
                registered_at = registered_at - interval '70 days', last_seen_at = last_seen_at - interval '70 days'
            WHERE ('x' || right(install_id, 3))::bit(12)::integer % 10 = \(tenth)
            """)
        try await fold()
        // VACUUM cannot run in a transaction with other statements. All sides start with all pages written.
        try await database.run("VACUUM ANALYZE")
        try await PostgresSession.withSession(database.superuser) { try $0.run(script: "CHECKPOINT") }
    }

    /// The same tenth as in `age`: a fleet's ids are hexadecimal digits of a hash.
    private static func tenth(of id: InstallID) -> Int {
        (Int(id.rawValue.suffix(3), radix: 16) ?? 0) % 10
    }

    private func cleanUp() async throws {
        try await database.binary.run(["cleanup", "--max-share", "100%"], environment: database.environment)
    }

    /// The same rows, events and deltas as the clean-up's; `fold` follows it.
    private static let bareSQL = """
        BEGIN;
        WITH changed AS (
            UPDATE installation
            SET state = 'stale', generation = generation + 1, state_changed_at = now(), revision = revision + 1
            WHERE state = 'active' AND last_seen_at <= now() - interval '60 days'
            RETURNING *
        ), counted AS (
            INSERT INTO rollup_delta (app_id, transaction_id, cell, expires_at, active, installations)
            SELECT app_id, (SELECT pg_current_xact_id()::text::bigint), cell, NULL, -count(*), 0
            FROM changed GROUP BY app_id, cell
        )
        INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, token_sha256,
            user_id, previous_user_id, state, generation_before, generation_after)
        SELECT (SELECT pg_current_xact_id()::text::bigint), now(), app_id, install_id, 'stale', 'unseen', 'bench',
            provider, token_sha256, user_id, user_id, state, generation - 1, generation
        FROM changed;
        COMMIT
        """

    private func fold() async throws {
        try await PostgresSession.withSession(database.session) { _ = try RollUpFold.runAll(in: $0) }
    }
}

/// Registrations during the clean-up, over a few connections. One in twenty changes settings.
struct CleanUpLoad {
    static let connections = 8
    private static let warmUp = Duration.seconds(2)
    private static let installationsMax = 10_000
    /// One in this many changes settings.
    private static let changedShare = 20

    private let wrk: Wrk
    private let requests: RequestFile

    /// - Parameter isUnaffected: whether the clean-up leaves an installation alone.
    init(_ fleet: Fleet, _ server: ServerProcess, where isUnaffected: @escaping (InstallID) -> Bool) async throws {
        wrk = Wrk(port: server.port, connections: Self.connections)
        let writer = RegistrationWriter(app: fleet.app.id, key: try await server.makeKey(of: fleet.app.id))
        // Without sessions that expire: this benchmark removed the expiry from the rows, so such a request would change
        // them.
        let unaffected = fleet.indices.lazy.filter { number in
            isUnaffected(fleet[number].installID) && fleet[number].owner?.session?.expiresAt == nil
        }.prefix(Self.installationsMax)
        requests = RequestFile(unaffected, variants: 2, .cyclic) { number, variant in
            let settings = fleet[number].settings
            let isChanged = number % Self.changedShare == 0
            return writer.request(fleet[number], settings: isChanged ? settings.toggled(1 + variant) : nil)
        }
    }

    /// - Returns: the 99th percentile of the latency while `body` ran, in milliseconds.
    func p99(during body: () async throws -> Void) async throws -> Double {
        try await wrk.warmUp(requests, for: Self.warmUp)
        let result = try await wrk.run(requests, during: body)
        guard result.failures == 0 else { throw BenchmarkFailure("\(result.failures) registrations failed") }
        return result.p99Milliseconds
    }
}

struct CleanUpBenchmarkCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "cleanup",
        abstract: "Measure the clean-up against bare SQL that changes the same rows, and during registrations.",
        discussion: """
            Starts a throw-away PostgreSQL, loads a fleet, and makes a tenth of it old, another tenth each round. Bare \
            SQL makes these stale in one transaction, with the same events and the same roll-up; in turn with it, \
            push-registry cleanup makes another tenth stale. Both sides fold the roll-up in the end; the clean-up's \
            time is that of its process, pauses included. Then push-registry serve receives registrations of other \
            installations, first without the clean-up and then while it runs.

            Five million installations take about twenty minutes and 10 GB.
            """)

    @Option(help: "The fleet's size.")
    var count = 5_000_000

    @Option(help: "The number of rounds, at most 3; each uses other tenths.")
    var rounds = 3

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count >= 100_000, (1...CleanUpBenchmark.roundsMax).contains(rounds) else {
            throw ValidationError("--count must be 100000 or more, --rounds 1 to \(CleanUpBenchmark.roundsMax).")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(AudienceBenchmark.clusterSettings) { server, binary in
            let database = try BenchmarkDatabase(server, binary, count: count, seed: common.seed)
            return try await CleanUpBenchmark(database: database).run(rounds: rounds, log: log)
        }
    }
}

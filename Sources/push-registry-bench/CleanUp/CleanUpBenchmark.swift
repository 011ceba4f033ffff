import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry
import RegistryStore

/// The night job and bare SQL, in turn, each on another tenth of one fleet.
struct CleanUpBenchmark {
    struct Result {
        let installations: Int
        /// Seconds of each round.
        let bare: [Double]
        let job: [Double]

        var text: String {
            let (bare, job) = (Self.median(bare), Self.median(job))
            let times = String(format: "%.1f s by cleanup, %.1f s by bare SQL: ratio %.2f", job, bare, job / bare)
            return
                "\(installations / 10) of \(installations) installations made stale: \(times) (to reach: 1.5 or less)"
        }

        private static func median(_ seconds: [Double]) -> Double { seconds.sorted()[seconds.count / 2] }
    }

    private let connectionString: String
    private let database: PostgresConfiguration
    private let binary: Binary
    private let count: Int
    private let seed: UInt64

    init(_ connectionString: String, binary: Binary, count: Int, seed: UInt64) throws {
        self.connectionString = connectionString
        database = try PostgresConfiguration(connectionString, applicationName: "push-registry-bench")
        self.binary = binary
        self.count = count
        self.seed = seed
    }

    func run(rounds: Int, log: @escaping @Sendable (String) -> Void) async throws -> Result {
        log("loading \(count) installations")
        try await load()
        var (bare, job): ([Double], [Double]) = ([], [])
        for round in 0..<rounds {
            try await age(tenth: 2 * round)
            bare.append(try await measure { try await script(Self.bareSQL) })
            try await age(tenth: 2 * round + 1)
            job.append(try await measure { try await cleanUp() })
            log("round \(round + 1): bare SQL \(bare[round]) s, cleanup \(job[round]) s")
        }
        return Result(installations: count, bare: bare, job: job)
    }

    private func measure(_ body: () async throws -> Void) async throws -> Double {
        try await ContinuousClock().measure { try await body() } / .seconds(1)
    }

    /// Seen within hours; without triggers, which a rebuild makes up for.
    private func load() async throws {
        let fleet = Fleet(
            seed: seed, app: try await App.find(AppID("com.example.bench"), in: database), count: count, asOf: .now,
            silence: .seconds(3_600), links: try TimeZoneLinks())
        var loader = FleetLoader()
        loader.writesHistory = false
        try await script("ALTER TABLE installation DISABLE TRIGGER USER")
        try await loader.load(fleet, 0..<count, into: database)
        // Only what this benchmark makes old is due.
        try await script(
            """
            UPDATE installation SET state = 'active', probably_replaced_by = NULL, session_expires_at = NULL
            WHERE state <> 'active' OR probably_replaced_by IS NOT NULL OR session_expires_at IS NOT NULL;
            ALTER TABLE installation ENABLE TRIGGER USER
            """)
        _ = try await RollUpRebuild(database).run()
    }

    private func age(tenth: Int) async throws {
        try await script(
            """
            UPDATE installation SET created_at = created_at - interval '70 days',
                registered_at = registered_at - interval '70 days', last_seen_at = last_seen_at - interval '70 days'
            WHERE mod(abs(hashtext(install_id)::bigint), 10) = \(tenth)
            """)
        try await script("SELECT fold_rollup(2147483647)")
        // In a transaction of its own.
        try await script("VACUUM ANALYZE")
    }

    private func cleanUp() async throws {
        _ = try await binary.run(
            ["cleanup", "--max-share", "100%"], environment: ["PUSH_REGISTRY_DATABASE_URL": connectionString])
    }

    private static let bareSQL = """
        BEGIN;
        WITH changed AS (
            UPDATE installation SET state = 'stale', generation = generation + 1, state_changed_at = now()
            WHERE state = 'active' AND last_seen_at <= now() - interval '60 days'
            RETURNING *
        )
        INSERT INTO token_event (at, app_id, install_id, event, reason, actor, provider, token_sha256, user_id,
            previous_user_id, state, generation_before, generation_after)
        SELECT now(), app_id, install_id, 'stale', 'unseen', 'bench', provider, token_sha256, user_id, user_id, state,
            generation - 1, generation
        FROM changed;
        COMMIT;
        SELECT fold_rollup(2147483647);
        """

    private func script(_ script: String) async throws {
        try await PostgresSession.withSession(database) { try $0.run(script: script) }
    }
}

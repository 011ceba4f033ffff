public import PostgresClient
import PushRegistry

/// The result of the last night job, for gauges: the job is another process, without metrics of its own.
public struct CleanUpResult: Sendable {
    public struct Count: Hashable, Sendable {
        /// The app's identifier.
        public let app: String
        /// A step of the job: `stale`, `purged`… or `typedTokens`.
        public let step: String
        /// Of installations, or of deleted tokens.
        public let count: Int64
    }

    /// Seconds since 1970, by PostgreSQL's clock.
    public let startedAt: Double
    public let finishedAt: Double
    /// The number of apps in which the run would have retired too large a share.
    public let refusedApps: Int64
    public let counts: [Count]

    /// The last run of all apps that came to its end; nil before there is one. A run that undoes another one does not
    /// count, nor does one that was limited to some apps.
    ///
    /// - Throws: `PostgresError`.
    public static func last(_ postgres: PostgresClient) async throws -> CleanUpResult? {
        guard let run = try await postgres.execute(GaugeStatements.lastRun()).first else { return nil }
        let results = try await postgres.execute(CleanUpLedgerStatements.results(try run.decode(0, as: Int32.self)))
        return CleanUpResult(
            startedAt: try run.decode(1), finishedAt: try run.decode(2), refusedApps: try run.decode(3),
            counts: try results.flatMap { row in
                let (app, counts) = (try row.decode(0, as: String.self), try CleanUpCounts(row, from: 4))
                return CleanUpStep.allCases.map { Count(app: app, step: $0.rawValue, count: Int64(counts[$0])) }
                    + [Count(app: app, step: "typedTokens", count: Int64(counts.typedTokens))]
            })
    }
}

/// The number of active installations (R10) by app and provider, from the roll-up: for a gauge. An installation whose
/// session has expired still counts, because its state is `active` until the night job.
public struct InstallationCounts: Sendable {
    public struct Count: Hashable, Sendable {
        /// The app's identifier.
        public let app: String
        public let provider: String
        public let active: Int64
    }

    private let postgres: PostgresClient

    /// - Parameter postgres: on ordinary planner settings.
    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Reads a few cells for each app, and the deltas that are not folded yet.
    ///
    /// - Throws: `PostgresError`.
    public func read() async throws -> [Count] {
        try await postgres.execute(GaugeStatements.activeInstallations()).map { row in
            Count(app: try row.decode(0), provider: try row.decode(1), active: try row.decode(2))
        }
    }
}

/// The SQL of gauges.
enum GaugeStatements {
    /// GET /metrics: reads the last complete run of the night job.
    static let lastRun = PreparedSQL(
        """
        SELECT id, extract(epoch FROM started_at)::float8, extract(epoch FROM finished_at)::float8,
            (SELECT count(*) FROM cleanup_result c WHERE c.run_id = r.id AND c.refused)
        FROM cleanup_run r WHERE undoes IS NULL AND apps IS NULL AND outcome IN ('done', 'refused')
        ORDER BY id DESC LIMIT 1
        """)

    /// Cells are summed first: their provider is looked up once.
    static let activeInstallations = PreparedSQL(
        """
        SELECT a.identifier, c.provider::text, sum(c.active)::bigint
        FROM (
            SELECT c.app_id, c.provider, sum(d.active) AS active
            FROM (
                SELECT app_id, cell, active FROM rollup_cube WHERE topic = 0
                UNION ALL
                SELECT d.app_id, d.cell, d.active
                FROM rollup_delta d JOIN rollup_state s ON s.app_id = d.app_id AND d.transaction_id >= s.horizon
                WHERE d.topic = 0) AS d
            JOIN rollup_cell c ON c.app_id = d.app_id AND c.number = d.cell
            GROUP BY 1, 2) AS c
        JOIN app a ON a.id = c.app_id
        GROUP BY 1, 2
        """)
}

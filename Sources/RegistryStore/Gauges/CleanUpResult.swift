public import PostgresClient

/// The result of the last night job, for gauges: the job is another process, without metrics of its own.
public struct CleanUpResult: Sendable {
    static let named = [
        NamedStatement("lastRun", lastRun), NamedStatement("countsOfRun", countsOfRun),
    ]

    public struct Count: Hashable, Sendable {
        /// The app's identifier.
        public let app: String
        /// A step of the job: `stale`, `purged`…
        public let step: String
        public let installations: Int64
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
        guard let run = try await postgres.execute(PostgresStatement(lastRun)).first else { return nil }
        let counts = try await postgres.execute(PostgresStatement(countsOfRun, try run.decode(0, as: Int32.self)))
        return CleanUpResult(
            startedAt: try run.decode(1), finishedAt: try run.decode(2), refusedApps: try run.decode(3),
            counts: try counts.map { row in
                Count(app: try row.decode(0), step: try row.decode(1), installations: try row.decode(2))
            })
    }

    private static let lastRun = PreparedSQL(
        serving: "GET /metrics: reads the last complete run of the night job.",
        """
        SELECT id, extract(epoch FROM started_at)::float8, extract(epoch FROM finished_at)::float8,
            (SELECT count(*) FROM cleanup_result c WHERE c.run_id = r.id AND c.refused)
        FROM cleanup_run r WHERE undoes IS NULL AND apps IS NULL AND outcome IN ('done', 'refused')
        ORDER BY id DESC LIMIT 1
        """)

    /// A step with a zero count has a row.
    private static let countsOfRun = PreparedSQL(
        serving: "GET /metrics: reads the counts of that run, by app and step.",
        """
        SELECT a.identifier, s.step, s.count
        FROM cleanup_result c JOIN app a ON a.id = c.app_id
        CROSS JOIN LATERAL (VALUES ('superseded', c.superseded), ('unregistered', c.unregistered),
            ('sessionEnded', c.session_ended), ('stale', c.stale), ('purged', c.purged)) AS s (step, count)
        WHERE c.run_id = $1
        """)
}

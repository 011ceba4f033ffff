import PostgresClient

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

    /// A step with a zero count has a row.
    static let countsOfRun = PreparedSQL(
        """
        SELECT a.identifier, s.step, s.count
        FROM cleanup_result c JOIN app a ON a.id = c.app_id
        CROSS JOIN LATERAL (VALUES ('superseded', c.superseded), ('unregistered', c.unregistered),
            ('sessionEnded', c.session_ended), ('stale', c.stale), ('purged', c.purged),
            ('typedTokens', c.typed_tokens)) AS s (step, count)
        WHERE c.run_id = $1
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

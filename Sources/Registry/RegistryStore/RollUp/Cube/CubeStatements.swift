import PostgresClient
import PushRegistry

/// The SQL that reads an app's cube, for counts, breakdowns and waves (R13). `$1` is the app.
enum CubeStatements {
    /// Every audience call (R7, R13): reads which deltas are folded and kept, and the last sweep's time.
    static let state = PreparedSQL(
        "SELECT horizon, folded, version, marks[1], swept_until FROM rollup_state WHERE app_id = $1")

    /// Audience counts, where a process does not have the cube yet (R13): reads the folded counts.
    /// `$2` are layers.
    static let cube = PreparedSQL(
        """
        SELECT b.topic, b.cell, CASE WHEN \(sql: RollUpLayer.reaches("b.topic")) THEN b.reachable ELSE 0 END,
            b.active, b.installations, \(sql: cell)
        FROM rollup_cube b JOIN rollup_cell c ON c.app_id = b.app_id AND c.number = b.cell
        WHERE b.app_id = $1 AND b.topic = ANY ($2)
        """)

    /// The deltas from the transaction `$3` on. Those of transactions from `$4` on are apart: others of them may still
    /// run. Each cell is looked up by its key, whatever the planner's statistics are.
    static let changes = PreparedSQL(
        """
        SELECT d.topic, d.cell, d.is_late, d.active, d.installations, d.expired, \(sql: cell)
        FROM (
            SELECT topic, cell, transaction_id >= $4 AS is_late, sum_counts(active) AS active,
                sum_counts(installations) AS installations, sum_counts(expired) AS expired
            FROM rollup_delta WHERE app_id = $1 AND topic = ANY ($2) AND transaction_id >= $3
            GROUP BY 1, 2, 3) AS d
        CROSS JOIN LATERAL (
            SELECT c.* FROM rollup_cell c WHERE c.app_id = $1 AND c.number = d.cell OFFSET 0) AS c
        """)

    /// Those of the same deltas that have an expiry.
    static let expiring = PreparedSQL(
        """
        SELECT topic, cell, transaction_id, expires_at, active FROM rollup_delta
        WHERE app_id = $1 AND topic = ANY ($2) AND transaction_id >= $3 AND expires_at IS NOT NULL
        """)

    /// Audience counts of reachable installations (R7, R13): reads sessions that expired until $3.
    static let expired = PreparedSQL(
        """
        SELECT topic, cell, sum_counts(active) FROM rollup_expiry
        WHERE app_id = $1 AND topic = ANY ($2) AND expires_at <= $3
        GROUP BY topic, cell
        """)

    /// Audience counts, where cells are new to a process (R13): reads their texts.
    static let texts = PreparedSQL(
        "SELECT number, text FROM rollup_text WHERE app_id = $1 AND number = ANY ($2)")

    /// Audience counts by offset or local time: reads offsets of zones.
    static func zones(of app: AppNumber, at asOf: Timestamp) -> PostgresStatement {
        PostgresStatement("WITH \(sql: ZoneOffsets.definition(at: asOf, of: app)) SELECT * FROM zone")
    }

    static let cell: PostgresSQL = """
        c.provider::text, c.authorization_status::text, c.is_admitted, c.locale_number, c.zone_number, \
        c.system_number, c.spelling_number, c.version_number, c.time_zone_offset
        """
}

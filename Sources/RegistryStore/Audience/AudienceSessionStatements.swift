import PostgresClient

/// The SQL of audience calls around the query itself, which `AudienceStatements` composes.
enum AudienceSessionStatements {
    static let named = [
        NamedStatement("begin", begin), NamedStatement("commit", commit), NamedStatement("moment", moment),
        NamedStatement("identityKey", identityKey),
        NamedStatement(
            "rowsOfTable", serving: "Audience calls with `explain`: reads the size of the table.", rowsOfTable),
        NamedStatement("explain", serving: "Audience calls with `explain`: reads a plan.", explain("SELECT 1")),
        NamedStatement(
            "limitTime", serving: "POST …/audience/export: limits the time of the export's statement.",
            limitTime(.zero)),
    ]

    static let begin = PreparedSQL(
        serving: "Every audience call: begins a read-only transaction.",
        "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    static let commit = PreparedSQL(
        serving: "Every audience call: ends the transaction.",
        "COMMIT")

    /// A standby that lags or is cut off has a time in the past: that of the last commit that it has replayed, or that
    /// of its last checkpoint if it has replayed none since its start. Also returns the oldest running transaction, and
    /// the run of the server with its tables.
    static let moment = PreparedSQL(
        serving: "Every audience call (R7, R13): reads the time and the position of the data.",
        """
        SELECT CASE
                WHEN NOT pg_is_in_recovery() OR pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
                    AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN now()
                ELSE coalesce(
                    pg_last_xact_replay_timestamp(), (SELECT checkpoint_time FROM pg_control_checkpoint())) END,
            pg_snapshot_xmin(pg_current_snapshot())::text::bigint, \(sql: DatabaseIdentityStatements.sql)
        """)

    static let identityKey = PreparedSQL(
        serving: "POST …/audience/installations and export: reads the key that hides installation ids.",
        "SELECT identity_key FROM app WHERE id = $1")

    // MARK: Plans

    static let rowsOfTable: PostgresStatement =
        "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'installation'::regclass"

    static func explain(_ query: PostgresSQL) -> PostgresStatement {
        PostgresStatement("EXPLAIN (FORMAT JSON) \(sql: query)").unprepared()
    }

    // MARK: Exports

    static func limitTime(_ duration: Duration) -> PostgresStatement {
        let milliseconds = "\(Int64(duration / .milliseconds(1)))"
        return "SELECT set_config('statement_timeout', \(milliseconds), true)"
    }
}

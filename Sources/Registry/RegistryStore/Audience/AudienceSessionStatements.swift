import PostgresClient

/// The SQL of audience calls around the query itself, which `AudienceStatements` composes.
enum AudienceSessionStatements {
    /// Every audience call: begins a read-only transaction.
    static let begin = PreparedSQL(
        "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    /// Every audience call: ends the transaction.
    static let commit = PreparedSQL(
        "COMMIT")

    /// A standby that lags or is cut off has a time in the past: that of the last commit that it has replayed, or that
    /// of its last checkpoint if it has replayed none since its start. Also returns the oldest running transaction, and
    /// the run of the server with its tables.
    static let moment = PreparedSQL(
        """
        SELECT CASE
                WHEN NOT pg_is_in_recovery() OR pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
                    AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN now()
                ELSE coalesce(
                    pg_last_xact_replay_timestamp(), (SELECT checkpoint_time FROM pg_control_checkpoint())) END,
            pg_snapshot_xmin(pg_current_snapshot())::text::bigint, \(sql: DatabaseIdentityStatements.sql)
        """)

    // MARK: Plans

    /// Audience calls with `explain`: reads the size of the table.
    static let rowsOfTable: PostgresStatement =
        "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'installation'::regclass"

    /// Audience calls with `explain`: reads a plan.
    static func explain(_ query: PostgresSQL) -> PostgresStatement {
        PostgresStatement("EXPLAIN (FORMAT JSON) \(sql: query)").unprepared()
    }

    // MARK: Exports

    /// POST …/audience/export with a kind: lets the planner look up the installations of the tokens, in the order of
    /// their ids. By its default it would rather read all installations and sort.
    static let lookUpInstallations = PreparedSQL("SELECT set_config('random_page_cost', '1.1', true)")

    /// POST …/audience/export: limits the time of the export's statement.
    static func limitTime(_ duration: Duration) -> PostgresStatement {
        let milliseconds = "\(Int64(duration / .milliseconds(1)))"
        return "SELECT set_config('statement_timeout', \(milliseconds), true)"
    }
}

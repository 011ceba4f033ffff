import PostgresClient
import PushRegistry
import RegistryStore

/// The SQL by which the night job removes cells and texts that nothing uses (R13).
enum UnusedCellStatements {
    /// Sums of messages that one statement reads.
    private static let sumsPerRead: Int64 = 100_000

    /// Returns the time at which the last run had marked what is unused, the present time, and whether they are far
    /// enough apart for the next run.
    static func moment(lag: Duration) -> PostgresStatement {
        """
        SELECT m.at, clock_timestamp(), m.at <= clock_timestamp() - \(lag.components.seconds) * interval '1 second'
        FROM (
            SELECT timestamptz 'epoch'
                + coalesce(pg_sequence_last_value('rollup_marked_at'), 0) * interval '1 microsecond' AS at) AS m
        """
    }

    /// Clean-up (R13): lets services forget numbers of cells.
    static let endMarking: PostgresStatement =
        "SELECT setval('rollup_marked_at', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"

    /// Returns the numbers of unused rows without a mark, of used rows with one, and of unused rows with a mark that is
    /// not later than `last`, and that no record of a past day names. A later mark counts as none.
    ///
    /// - Parameter table: of cells or of texts.
    static func find(in table: String, of app: AppNumber, marked last: PostgresTimestamp) -> PostgresStatement {
        let isFree: PostgresSQL =
            table == "rollup_cell" ? " AND NOT \(sql: RollUpHistoryStatements.isRecorded)" : ""
        return PostgresStatement(
            """
            SELECT coalesce(array_agg(t.number) FILTER (
                    WHERE u.number IS NULL AND (t.unused_since > \(last)) IS NOT FALSE), '{}'),
                coalesce(array_agg(t.number) FILTER (WHERE u.number IS NOT NULL AND t.unused_since IS NOT NULL), '{}'),
                coalesce(array_agg(t.number) FILTER (
                    WHERE u.number IS NULL AND t.unused_since <= \(last)\(sql: isFree)), '{}')
            FROM \(identifier: table) t
            LEFT JOIN (\(sql: table == "rollup_text" ? usedTexts(app) : usedCells(app))) AS u (number)
                ON u.number = t.number
            WHERE t.app_id = \(app.rawValue)
            """
        ).unprepared()
    }

    /// A folded delta counts too: cubes in memory follow it.
    private static func usedCells(_ app: AppNumber) -> PostgresSQL {
        ["rollup_cube", "rollup_delta", "rollup_expiry", "message_delta"].map { table -> PostgresSQL in
            "SELECT cell FROM \(identifier: table) WHERE app_id = \(app.rawValue)"
        }.joined(separator: " UNION ")
    }

    private static func usedTexts(_ app: AppNumber) -> PostgresSQL {
        ["locale", "zone", "system", "spelling", "version"].map { text -> PostgresSQL in
            "SELECT \(identifier: text + "_number") FROM rollup_cell WHERE app_id = \(app.rawValue)"
        }.joined(separator: " UNION ")
    }

    /// Reads sums behind a message and cell. Returns the last message and cell, or NULL at the end, and the marked
    /// cells among them.
    static func counted(of app: AppNumber, after message: Int64, _ cell: Int64) -> PostgresStatement {
        PostgresStatement(
            """
            WITH page AS MATERIALIZED (
                SELECT message, cell FROM message_sum
                WHERE app_id = \(app.rawValue) AND (message, cell) > (\(message), \(cell))
                ORDER BY message, cell LIMIT \(sumsPerRead)
            )
            SELECT max(message), max(cell) FILTER (WHERE message = (SELECT max(message) FROM page)),
                ARRAY(
                    SELECT DISTINCT c.number FROM page p
                    JOIN rollup_cell c ON c.app_id = \(app.rawValue) AND c.number = p.cell
                    WHERE c.unused_since IS NOT NULL)
            FROM page
            """
        ).unprepared()
    }

    /// - Parameter since: nil removes marks.
    static func mark(
        in table: String, of app: AppNumber, _ numbers: [Int64], since: PostgresTimestamp?
    ) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE \(identifier: table) SET unused_since = \(since)::timestamptz
            WHERE app_id = \(app.rawValue) AND number IN (\(sql: locked(in: table, of: app, numbers)))
            """
        ).unprepared()
    }

    /// Deletes the rows that still have a mark that is not later than `last`.
    static func delete(
        from table: String, of app: AppNumber, _ numbers: [Int64], marked last: PostgresTimestamp
    ) -> PostgresStatement {
        PostgresStatement(
            """
            DELETE FROM \(identifier: table)
            WHERE app_id = \(app.rawValue) AND unused_since <= \(last)
                AND number IN (\(sql: locked(in: table, of: app, numbers)))
            """
        ).unprepared()
    }

    /// Leaves rows whose mark a service is removing.
    private static func locked(in table: String, of app: AppNumber, _ numbers: [Int64]) -> PostgresSQL {
        """
        SELECT number FROM \(identifier: table)
                WHERE app_id = \(app.rawValue) AND number = ANY (\(numbers)) FOR UPDATE SKIP LOCKED
        """
    }

    /// Clean-up (R13): checks whether installations are in overflow cells.
    static func overflows(_ app: AppNumber) -> PostgresStatement {
        """
        SELECT EXISTS (
            SELECT FROM rollup_cell c JOIN rollup_cube b ON b.app_id = c.app_id AND b.topic = 0 AND b.cell = c.number
            WHERE c.app_id = \(app.rawValue) AND c.locale_number = 0 AND b.installations > 0)
        """
    }
}

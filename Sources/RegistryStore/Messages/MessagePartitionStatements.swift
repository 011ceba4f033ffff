import PostgresClient
import PushRegistry

/// The SQL of the partitions of receipts and sums. Every service creates partitions at its start and once a day;
/// clean-up also drops old ones.
enum MessagePartitionStatements {
    /// Returns the table, the first day and the day after the last one.
    static func missing(_ ahead: ISO8601Duration) -> PostgresStatement {
        PostgresStatement(missingSQL, ahead.description)
    }

    /// Service, at start and daily; clean-up (fine print 58): finds missing partitions of receipts.
    private static let missingSQL = PreparedSQL(
        """
        SELECT parent, first_day::text, end_day::text FROM missing_message_partitions($1::text::interval)
        """)

    static func make(_ parent: String, from first: String, to end: String) -> PostgresStatement {
        PostgresStatement(makeSQL, parent, first, end)
    }

    /// Service, at start and daily; clean-up (fine print 58): creates a partition of receipts.
    private static let makeSQL = PreparedSQL(
        "SELECT make_message_partition($1, $2::text::date, $3::text::date)")

    /// Returns the partitions whose messages are all older, each with the numbers at which it begins and ends.
    static func old(_ parent: String, before number: MessageNumber) -> PostgresStatement {
        PostgresStatement(oldSQL, parent, number.rawValue)
    }

    /// Clean-up (fine print 58): finds old partitions of receipts and of messages' sums.
    private static let oldSQL = PreparedSQL(
        """
        SELECT p.name, p.bounds[1], p.bounds[2]
        FROM (
            SELECT c.relname::text AS name,
                regexp_match(
                    pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''?(\\d+)''?\\) TO \\(''?(\\d+)''?\\)'
                )::bigint[] AS bounds
            FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = $1::text::regclass) AS p
        WHERE p.bounds[2] <= $2 ORDER BY p.name
        """)

    /// Returns the partitions that have or may get rows of older messages, the default one too.
    static func partitions(of parent: String, before number: MessageNumber) -> PostgresStatement {
        PostgresStatement(partitionsSQL, parent, number.rawValue)
    }

    /// Clean-up (fine print 58): finds partitions with receipts that some apps keep and others do not.
    private static let partitionsSQL = PreparedSQL(
        """
        SELECT c.relname::text
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = $1::text::regclass
            AND coalesce(
                (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''?(\\d+)'))[1]::bigint, 0) < $2
        ORDER BY c.relname
        """)

    /// Returns whether a receipt of these messages may still be valid, also if a policy has changed (fine print 72).
    static func isValid(from first: Int64, to end: Int64, at time: Timestamp) -> PostgresStatement {
        PostgresStatement(isValidSQL, first, end, time.postgres)
    }

    /// Clean-up (fine print 72): checks whether receipts of a partition may still be valid.
    private static let isValidSQL = PreparedSQL(
        """
        SELECT count(*) > 0 FROM message WHERE number >= $1 AND number < $2 AND receipts_until > $3
        """)

    /// Default partitions have rows only of times whose partition was missing.
    static func purgeDefaults(
        receiptsBefore receipts: MessageNumber, sumsBefore sums: MessageNumber, at time: Timestamp
    ) -> [PostgresStatement] {
        [
            PostgresStatement(purgeReceipts, receipts.rawValue, time.postgres),
            PostgresStatement(purgeSums, sums.rawValue), PostgresStatement(purgeMinutes, sums.rawValue),
        ]
    }

    /// Clean-up (fine print 58): deletes old receipts of the default partition.
    private static let purgeReceipts = PreparedSQL(
        """
        DELETE FROM receipt_default r
        WHERE r.message < $1 AND NOT EXISTS (
            SELECT FROM message m WHERE m.app_id = r.app_id AND m.number = r.message AND m.receipts_until > $2)
        """)

    /// Clean-up (fine print 58): deletes old sums of the default partition.
    private static let purgeSums = PreparedSQL(
        "DELETE FROM message_sum_default WHERE message < $1")

    /// Clean-up (fine print 58): deletes old sums by time of the default partition.
    private static let purgeMinutes = PreparedSQL(
        "DELETE FROM message_minute_default WHERE message < $1")

    static func forget(_ app: AppNumber, before number: MessageNumber) -> PostgresStatement {
        PostgresStatement(forgetSQL, app.rawValue, number.rawValue)
    }

    /// Clean-up (fine print 93): deletes messages whose sums are gone.
    private static let forgetSQL = PreparedSQL(
        "DELETE FROM message WHERE app_id = $1 AND number < $2")
}

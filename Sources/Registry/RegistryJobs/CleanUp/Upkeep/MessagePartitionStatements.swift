import PostgresClient
import PushRegistry
import RegistryStore

/// The SQL by which clean-up forgets receipts and sums.
enum MessagePartitionStatements {
    /// Returns the partitions that have or may get rows of older messages, the default one too.
    static func partitions(of parent: String, before number: MessageNumber) -> PostgresStatement {
        partitionsSQL(parent, number.rawValue)
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
    static func isValid(from start: Timestamp, to end: Timestamp, at time: Timestamp) -> PostgresStatement {
        isValidSQL(MessageNumber(createdAt: start).rawValue, MessageNumber(createdAt: end).rawValue, time.postgres)
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
        [purgeReceipts(receipts.rawValue, time.postgres), purgeSums(sums.rawValue), purgeMinutes(sums.rawValue)]
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
        forgetSQL(app.rawValue, number.rawValue)
    }

    /// Clean-up (fine print 93): deletes messages whose sums are gone.
    private static let forgetSQL = PreparedSQL(
        "DELETE FROM message WHERE app_id = $1 AND number < $2")
}

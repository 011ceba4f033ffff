import PostgresClient
import PushRegistry

/// The SQL of partitions by time (`partitioned_table`). Every service executes it at its start and once a day, and
/// clean-up, which also drops old ones.
enum PartitionStatements {
    static let missing = PreparedSQL(
        "SELECT parent, begins_at, ends_at, begins_at > now() + interval '1 day' FROM missing_partitions($1::interval)")

    static func make(_ parent: String, from start: PostgresTimestamp, to end: PostgresTimestamp) -> PostgresStatement {
        "SELECT make_partition(\(parent), \(start), \(end))"
    }

    static let lockTimeout = "SET LOCAL lock_timeout = '50ms'"
    /// Of the scan of a default partition, whose writers wait for it.
    static let scanTimeout = "SET LOCAL statement_timeout = '2s'"

    // MARK: Keeping rows of the future out of default partitions

    static func hold(_ parent: String, from start: PostgresTimestamp, to end: PostgresTimestamp) -> PostgresStatement {
        "SELECT hold_partition(\(parent), \(start), \(end))"
    }

    static func validate(_ parent: String) -> PostgresStatement {
        "ALTER TABLE \(identifier: parent + "_default") VALIDATE CONSTRAINT partition_bounds"
    }

    static func release(_ parent: String) -> PostgresStatement {
        "ALTER TABLE \(identifier: parent + "_default") DROP CONSTRAINT IF EXISTS partition_bounds"
    }

    /// The tables whose constraint a run left that was cut short.
    static let held = PreparedSQL(
        """
        SELECT t.parent FROM partitioned_table t JOIN pg_constraint c ON c.conrelid = (t.parent || '_default')::regclass
        WHERE c.conname = 'partition_bounds'
        """)

    // MARK: Dropping

    /// The partitions of the tables `$1` that end at `$2` or before, the oldest first.
    static let ended = PreparedSQL(
        """
        SELECT name, begins_at, ends_at FROM time_partition WHERE parent = ANY ($1) AND ends_at <= $2
        ORDER BY ends_at, name
        """)

    static func drop(_ partition: String) -> PostgresStatement { "DROP TABLE \(identifier: partition)" }
}

import PostgresClient
import PushRegistry

/// The SQL of the partitions of history. Clean-up executes it, and every service at its start and once a day.
enum HistoryPartitionStatements {
    /// A table that is partitioned by month.
    struct History: Sendable {
        let name: String
        /// The column that decides a row's month.
        let month: PostgresSQL

        var parent: PostgresSQL { PostgresSQL(identifier: name) }
        var defaultName: String { name + "_default" }
        var defaultPartition: PostgresSQL { PostgresSQL(identifier: defaultName) }
    }

    static let events = History(name: "token_event", month: "at")
    static let snapshots = History(name: "settings_snapshot", month: "replaced_at")

    // MARK: Creating

    /// Service, at start and daily; clean-up (R12): finds months without a partition.
    /// `$1` is the number of months ahead. Returns the table and the first day of each month.
    static let missing = PreparedSQL(
        "SELECT parent, first_day::text FROM missing_history_months($1)")

    /// Service, at start and daily; clean-up: finds a constraint that an aborted run left.
    static let hasLeftover = PreparedSQL(
        "SELECT EXISTS (SELECT FROM pg_constraint WHERE conname = 'history_bounds')")

    private static let lockKey: PostgresSQL = "hashtext('push-registry: history partitions')::bigint"
    /// Service, at start and daily; clean-up: locks the creation of partitions.
    static let lock: PostgresStatement = "SELECT pg_try_advisory_lock(\(sql: lockKey))"
    /// Service, at start and daily; clean-up: releases this lock.
    static let unlock: PostgresStatement = "SELECT pg_advisory_unlock(\(sql: lockKey))"
    /// Service, at start and daily; clean-up: limits the waits for locks of tables.
    static let lockTimeout = "SET LOCAL lock_timeout = '50ms'"

    static func make(_ parent: String, _ firstDay: String) -> PostgresStatement {
        PostgresStatement(makeSQL, parent, firstDay)
    }

    /// Service, at start and daily; clean-up (R12): creates the partition of a month.
    private static let makeSQL = PreparedSQL(
        "SELECT make_history_partition($1, $2::text::date)")

    /// Returns the first month of the default partition's rows, and the end of the months that it may still get rows
    /// of, in days; NULL if it is empty. A month that begins within a day may begin while its partition is being
    /// created.
    static func extent(of history: History) -> PostgresStatement {
        """
        SELECT to_char(date_trunc('month', h.first AT TIME ZONE 'UTC'), 'YYYY-MM-DD'),
            to_char(date_trunc('month',
                (greatest(clock_timestamp(), h.last) + interval '1 day') AT TIME ZONE 'UTC') + interval '1 month',
                'YYYY-MM-DD')
        FROM (
            SELECT min(\(sql: history.month)) AS first, max(\(sql: history.month)) AS last
            FROM \(sql: history.defaultPartition)) AS h
        """
    }

    /// With this constraint, PostgreSQL need not scan the default partition. It is validated while other sessions read
    /// and write.
    static func constrain(_ history: History, _ condition: PostgresSQL) -> [PostgresSQL] {
        [
            """
            ALTER TABLE \(sql: history.defaultPartition)
            ADD CONSTRAINT history_bounds CHECK (\(sql: condition)) NOT VALID
            """,
            "ALTER TABLE \(sql: history.defaultPartition) VALIDATE CONSTRAINT history_bounds",
        ]
    }

    static func unconstrain(_ history: History) -> PostgresSQL {
        "ALTER TABLE \(sql: history.defaultPartition) DROP CONSTRAINT IF EXISTS history_bounds"
    }

    /// A condition: rows of these days.
    static func lies(_ history: History, from first: String, to end: String) -> PostgresSQL {
        let (from, to) = (instant(first), instant(end))
        return "\(sql: history.month) >= \(sql: from) AND \(sql: history.month) < \(sql: to)"
    }

    static func instant(_ day: String) -> PostgresSQL { "\(literal: day + " 00:00:00+00")" }

    /// Converts the default partition to a partition of these months, and adds an empty default partition. A constraint
    /// guarantees that its rows lie between these days. One transaction, which moves no row.
    static func absorb(_ history: History, from first: String, to end: String) -> [PostgresSQL] {
        let name = PostgresSQL(identifier: "\(history.name)_until_\(end.replacing("-", with: "_"))")
        return [
            "ALTER TABLE \(sql: history.parent) DETACH PARTITION \(sql: history.defaultPartition)",
            "ALTER TABLE \(sql: history.defaultPartition) RENAME TO \(sql: name)",
            """
            ALTER TABLE \(sql: history.parent) ATTACH PARTITION \(sql: name)
            FOR VALUES FROM (\(sql: instant(first))) TO (\(sql: instant(end)))
            """,
            "ALTER TABLE \(sql: name) DROP CONSTRAINT history_bounds",
            """
            CREATE TABLE \(sql: history.defaultPartition)
                (LIKE \(sql: history.parent) INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
            """,
            "ALTER TABLE \(sql: history.parent) ATTACH PARTITION \(sql: history.defaultPartition) DEFAULT",
        ]
    }

    // MARK: Dropping

    /// The partitions that end at or before the beginning of the month of `$1`, grouped by their ends, the oldest
    /// first. The last row is that beginning, even if no partition ends there.
    static let expired = PreparedSQL(
        """
        WITH bound AS (
            SELECT date_trunc('month', $1::timestamptz AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS ends_at)
        SELECT p.ends_at, coalesce(array_agg(p.name ORDER BY p.name) FILTER (WHERE p.name IS NOT NULL), '{}')
        FROM (SELECT ends_at, name FROM history_partition UNION ALL SELECT ends_at, NULL FROM bound) AS p
        WHERE p.ends_at <= (SELECT ends_at FROM bound)
        GROUP BY p.ends_at ORDER BY p.ends_at
        """)

    /// Runs before the partition is dropped: a reader of changes whose cursor is older gets 410 (fine print 27).
    ///
    /// - Parameter end: only events before it.
    static func recordDropped(
        _ partition: String, of app: AppNumber, before end: PostgresTimestamp
    ) -> PostgresStatement {
        """
        INSERT INTO dropped_history AS d (app_id, position, id)
        SELECT e.app_id, e.position, e.id FROM \(identifier: partition) e
        WHERE e.app_id = \(app.rawValue) AND e.at < \(end) ORDER BY e.position DESC, e.id DESC LIMIT 1
        ON CONFLICT (app_id) DO UPDATE SET position = excluded.position, id = excluded.id
        WHERE (d.position, d.id) < (excluded.position, excluded.id)
        """
    }

    /// Clean-up (R12): drops a partition.
    static func drop(_ partition: String) -> PostgresStatement { "DROP TABLE \(identifier: partition)" }

    /// A default partition has rows only if partitions were once missing.
    static func delete(_ history: History, _ range: PageRange, before end: PostgresTimestamp) -> PostgresStatement {
        """
        DELETE FROM \(sql: history.defaultPartition) h
        WHERE \(sql: range.contains("h")) AND h.\(sql: history.month) < \(end)
        """
    }

    /// Clean-up, dry run (R12): counts old rows of a default partition.
    static func count(_ history: History, before end: PostgresTimestamp) -> PostgresStatement {
        "SELECT count(*) FROM \(sql: history.defaultPartition) WHERE \(sql: history.month) < \(end)"
    }
}

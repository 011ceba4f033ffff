import PostgresClient
import PushRegistry

/// The SQL of the partitions of history: clean-up, and every service at its start and once a day.
enum HistoryPartitionStatements {
    /// A table that is partitioned by month.
    struct History: Sendable {
        let name: String
        /// The column that a row's month is told by.
        let month: PostgresSQL

        var parent: PostgresSQL { PostgresSQL(identifier: name) }
        var defaultName: String { name + "_default" }
        var defaultPartition: PostgresSQL { PostgresSQL(identifier: defaultName) }
    }

    static let events = History(name: "token_event", month: "at")
    static let snapshots = History(name: "settings_snapshot", month: "replaced_at")

    // MARK: Creating

    /// The histories and first days of the months, `$1` ahead, that have no partition.
    static let missing = PreparedSQL("SELECT parent, first_day::text FROM missing_history_months($1)")

    /// Whether a constraint was left behind by somebody who was cut short.
    static let hasLeftover = PreparedSQL("SELECT EXISTS (SELECT FROM pg_constraint WHERE conname = 'history_bounds')")

    private static let lockKey: PostgresSQL = "hashtext('push-registry: history partitions')::bigint"
    static let lock: PostgresStatement = "SELECT pg_try_advisory_lock(\(sql: lockKey))"
    static let unlock: PostgresStatement = "SELECT pg_advisory_unlock(\(sql: lockKey))"

    static func make(_ parent: String, _ firstDay: String) -> PostgresStatement {
        PostgresStatement(makeSQL, parent, firstDay)
    }

    private static let makeSQL = PreparedSQL("SELECT make_history_partition($1, $2::text::date)")

    /// Where the rows of the default partition begin, and the months that may still come to it end, in days; NULL if it
    /// is empty. A month that begins within a day may come while its partition is being created.
    static func extent(of history: History) -> PostgresStatement {
        """
        SELECT to_char(date_trunc('month', min(\(sql: history.month)) AT TIME ZONE 'UTC'), 'YYYY-MM-DD'),
            to_char(date_trunc('month', (\(sql: RegistryClockStatements.now) + interval '1 day') AT TIME ZONE 'UTC')
                + interval '1 month', 'YYYY-MM-DD')
        FROM \(sql: history.defaultPartition)
        """
    }

    /// The constraint under which PostgreSQL need not scan a default partition. It is validated while others read and
    /// write.
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

    /// Within these days.
    static func lies(_ history: History, from first: String, to end: String) -> PostgresSQL {
        let (from, to) = (instant(first), instant(end))
        return "\(sql: history.month) >= \(sql: from) AND \(sql: history.month) < \(sql: to)"
    }

    static func instant(_ day: String) -> PostgresSQL { "\(literal: day + " 00:00:00+00")" }

    /// Makes the default partition, of whose rows a constraint says that they lie between these days, a partition of
    /// these months, and gives the table an empty default one. One transaction, which moves no row.
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

    /// Clean-up: the partitions that end before the month of `$1` or with its beginning, by their ends, the oldest
    /// first. The last row is that beginning, be it that no partition ends there.
    static let expired = PreparedSQL(
        """
        WITH bound AS (
            SELECT date_trunc('month', $1::timestamptz AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS ends_at)
        SELECT p.ends_at, coalesce(array_agg(p.name ORDER BY p.name) FILTER (WHERE p.name IS NOT NULL), '{}')
        FROM (SELECT ends_at, name FROM history_partition UNION ALL SELECT ends_at, NULL FROM bound) AS p
        WHERE p.ends_at <= (SELECT ends_at FROM bound)
        GROUP BY p.ends_at ORDER BY p.ends_at
        """)

    /// Clean-up: remembers the newest event of each app in a partition, before it is dropped: a reader of changes who
    /// is behind it learns that events are gone (fine print 27).
    ///
    /// - Parameter end: only events before it.
    static func recordDropped(_ partition: String, before end: PostgresTimestamp) -> PostgresStatement {
        """
        INSERT INTO dropped_history AS d (app_id, position, id)
        SELECT a.id, e.position, e.id
        FROM app a
            CROSS JOIN LATERAL (
                SELECT e.position, e.id FROM \(identifier: partition) e
                WHERE e.app_id = a.id AND e.at < \(end) ORDER BY e.position DESC, e.id DESC LIMIT 1) AS e
        ON CONFLICT (app_id) DO UPDATE SET position = excluded.position, id = excluded.id
        WHERE (d.position, d.id) < (excluded.position, excluded.id)
        """
    }

    static func drop(_ partition: String) -> PostgresStatement { "DROP TABLE \(identifier: partition)" }

    /// Clean-up: rows of a default partition that are older. There are none unless partitions were once missing.
    static func delete(_ history: History, _ range: PageRange, before end: PostgresTimestamp) -> PostgresStatement {
        """
        DELETE FROM \(sql: history.defaultPartition) h
        WHERE \(sql: range.contains("h")) AND h.\(sql: history.month) < \(end)
        """
    }

    static func count(_ history: History, before end: PostgresTimestamp) -> PostgresStatement {
        "SELECT count(*) FROM \(sql: history.defaultPartition) WHERE \(sql: history.month) < \(end)"
    }
}

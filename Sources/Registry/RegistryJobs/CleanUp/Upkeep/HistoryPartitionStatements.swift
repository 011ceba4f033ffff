import PostgresClient
import PushRegistry

/// The SQL by which clean-up drops months of history.
enum HistoryPartitionStatements {
    /// A table that is partitioned by month.
    struct History: Sendable {
        let name: String
        /// The column that decides a row's month.
        let month: PostgresSQL

        var defaultName: String { name + "_default" }
        var defaultPartition: PostgresSQL { PostgresSQL(identifier: defaultName) }
    }

    static let events = History(name: "token_event", month: "at")
    static let snapshots = History(name: "settings_snapshot", month: "replaced_at")

    /// The beginning of the month of `$1`.
    static let beginning = PreparedSQL(
        "SELECT date_trunc('month', $1::timestamptz AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'")

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

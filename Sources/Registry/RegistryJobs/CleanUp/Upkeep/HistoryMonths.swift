import PostgresClient
import PushRegistry
import RegistryStore

/// Drops months of history that are older than the retention.
struct HistoryMonths {
    let session: PostgresSession

    /// Of a default partition: 8 MiB in one transaction.
    private static let pagesPerBatch: Int64 = 1_024

    private static let histories = [HistoryPartitionStatements.events, HistoryPartitionStatements.snapshots]

    /// Months of which every day is older than history is kept.
    struct Expired {
        /// Where the next one begins.
        let end: PostgresTimestamp
        /// By name.
        let partitions: [String]
    }

    /// The oldest first. The last element is the last month, even if it has no partition.
    func expired(before: Timestamp) throws -> [Expired] {
        let last: PostgresTimestamp = try session.execute(
            HistoryPartitionStatements.beginning(before.postgres))[0].decode(0)
        let ended = try session.execute(PartitionStatements.ended(Self.histories.map(\.name), last))
        var months: [PostgresTimestamp: [String]] = [last: []]
        for row in ended { months[try row.decode(2), default: []].append(try row.decode(0)) }
        return months.sorted { $0.key < $1.key }.map { Expired(end: $0, partitions: $1) }
    }

    /// Runs before they are dropped: a reader of changes that has not read them must get 410.
    func recordDropped(_ month: Expired) throws {
        let events = HistoryPartitionStatements.events
        for name in month.partitions + [events.defaultName] where name.hasPrefix(events.name) {
            for row in try session.execute(RollUpStatements.allApps) {
                let record = HistoryPartitionStatements.recordDropped(
                    name, of: AppNumber(try row.decode(0)), before: month.end)
                _ = try session.execute(record.unprepared())
            }
        }
    }

    /// - Returns: false if others use the table all the time.
    func drop(_ partition: String) throws -> Bool {
        do {
            try Partitions.withTableLocks(session) {
                _ = try session.execute(PartitionStatements.drop(partition).unprepared())
            }
            return true
        } catch let error where error.isLockTimeout {
            return false
        }
    }

    func removeFromDefaults(before end: PostgresTimestamp, _ removed: (Int) throws -> Void) throws {
        for history in Self.histories {
            var pace = try CleanUpPace(session)
            for range in try PageRange.all(of: history.defaultName, by: Self.pagesPerBatch, session) {
                let delete = HistoryPartitionStatements.delete(history, range, before: end).unprepared()
                let count = try pace.run { try session.execute(delete).affectedRows }
                if count > 0 { try removed(count) }
            }
        }
    }

    func countInDefaults(before end: PostgresTimestamp) throws -> Int {
        try Self.histories.reduce(0) { sum, history in
            let count = HistoryPartitionStatements.count(history, before: end).unprepared()
            return sum + (try session.execute(count)[0].decode(0) as Int)
        }
    }
}

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

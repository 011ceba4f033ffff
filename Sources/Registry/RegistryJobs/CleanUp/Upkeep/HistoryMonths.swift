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

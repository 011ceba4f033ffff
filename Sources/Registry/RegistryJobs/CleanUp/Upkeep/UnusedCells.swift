import PostgresClient
import PushRegistry
import RegistryStore

/// The night job's removal of cells and texts that nothing uses (R13): clients choose locales and versions freely, and
/// an app may have a limited number of cells.
///
/// A run marks what is unused and commits. Then it changes `rollup_marked_at`, so that services forget all numbers
/// (`DatabaseIdentityStatements`). A later run, at least an hour afterwards, deletes what is still marked and unused.
/// Whoever looks up a marked row removes the mark, in the statements of `RollUpCellCreation`.
///
/// - A number that a service got before the mark is used for 250 ms after the change, and by the transaction that has
///   it: an hour is long enough. The later run sees the installation or the cell that uses it, and removes the mark.
/// - A number that a service got after the mark has no mark any more, so it is not deleted. If it is marked again, its
///   time is that of another run, and the first case applies.
/// - A look-up that meets the deletion: one of them locks the row first. If it is the look-up, the deletion finds no
///   mark. If it is the deletion, the look-up finds no row, and creates it with another number.
/// - A text that no cell has yet may be marked. The cell is created within the hour, and names it then.
/// - A run that is killed before the change leaves marks that are later than it. The next run renews them.
///
/// A cell that a message counted stays as long as the message's sums, and one that a record of a past day names as long
/// as the record (`RollUpRecording`). Queries have one snapshot of cells and counts.
struct UnusedCells {
    let session: PostgresSession
    let nodes: CleanUpNodes
    let options: Options

    struct Options: Sendable {
        /// The time between a mark and the deletion.
        var lag = Duration.seconds(3_600)
        var limits = RollUpCellLimits()
    }

    private enum Table: String, CaseIterable {
        case cells = "rollup_cell"
        case texts = "rollup_text"
    }

    /// Rows of one transaction.
    private static let batch = 10_000

    /// Removes unused cells and texts of all apps, after it has folded their deltas, and gives cells to installations
    /// in overflow cells.
    func keep() throws {
        let moment = try session.execute(UnusedCellStatements.moment(lag: options.lag))[0]
        let (last, now): (PostgresTimestamp, PostgresTimestamp) = (try moment.decode(0), try moment.decode(1))
        let isDue: Bool = try moment.decode(2)
        var pace = try CleanUpPace(session)
        var hasMarked = false
        let kept = Result {
            try session.execute(RollUpStatements.allApps).forEachApp { app in
                _ = try nodes.with([app]) {
                    _ = try RollUpFold.runAll(app, in: session)
                    if isDue {
                        for table in Table.allCases {
                            try remove(from: table, of: app, marked: last, now: now, &hasMarked, &pace)
                        }
                    }
                    try emptyOverflow(of: app, &pace)
                }
            }
        }
        if hasMarked { _ = try session.execute(UnusedCellStatements.endMarking) }
        try kept.get()
    }

    private func remove(
        from table: Table, of app: AppNumber, marked last: PostgresTimestamp, now: PostgresTimestamp,
        _ hasMarked: inout Bool, _ pace: inout CleanUpPace
    ) throws {
        let name = table.rawValue
        let find = UnusedCellStatements.find(in: name, of: app, marked: last).unprepared()
        let found = try pace.run { try session.execute(find)[0] }
        let (new, wrong) = (try found.decode(0, as: [Int64].self), try found.decode(1, as: [Int64].self))
        var old: [Int64] = try found.decode(2)
        if table == .cells, !old.isEmpty {
            let counted = try countedByMessages(of: app, &pace)
            old.removeAll(where: counted.contains)
        }
        try inBatches(old, &pace) { UnusedCellStatements.delete(from: name, of: app, $0, marked: last) }
        try inBatches(wrong, &pace) { UnusedCellStatements.mark(in: name, of: app, $0, since: nil) }
        hasMarked = hasMarked || !new.isEmpty
        try inBatches(new, &pace) { UnusedCellStatements.mark(in: name, of: app, $0, since: now) }
    }

    private func inBatches(
        _ numbers: [Int64], _ pace: inout CleanUpPace, _ statement: ([Int64]) -> PostgresStatement
    ) throws {
        for start in stride(from: 0, to: numbers.count, by: Self.batch) {
            let batch = Array(numbers[start..<min(start + Self.batch, numbers.count)])
            _ = try pace.run { try session.execute(statement(batch).unprepared()) }
        }
    }

    /// The marked cells in the sums of messages. A new sum of such a cell needs an installation that uses it.
    private func countedByMessages(of app: AppNumber, _ pace: inout CleanUpPace) throws -> Set<Int64> {
        var cells: Set<Int64> = []
        var last: (message: Int64, cell: Int64)? = (0, 0)
        while let (message, cell) = last {
            let read = UnusedCellStatements.counted(of: app, after: message, cell).unprepared()
            let page = try pace.run { try session.execute(read)[0] }
            cells.formUnion(try page.decode(2, as: [Int64].self))
            last = try page.decode(0, as: Int64?.self).map { ($0, try page.decode(1)) }
        }
        return cells
    }

    /// Gives installations in overflow cells their own ones if the app may have more. What others keep locked is left
    /// for the next night.
    private func emptyOverflow(of app: AppNumber, _ pace: inout CleanUpPace) throws {
        guard try session.execute(UnusedCellStatements.overflows(app))[0].decode(0) else { return }
        let count = try RollUpCellCount(session.execute(RollUpCellStatements.count(of: app)))
        guard options.limits.admitsAll(count) else { return }
        let assignment = RollUpCellAssignment(app, leavesOverflow: true, limits: options.limits)
        do {
            _ = try assignment.steps.runBlocking { unit in
                try pace.run {
                    try session.withTransaction(attemptsMax: 5, orIf: \.isLockTimeout) { try unit.map(session.execute) }
                }
            }
        } catch let error where error.isLockTimeout {}
    }
}

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
        return """
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
    }

    /// - Parameter since: nil removes marks.
    static func mark(
        in table: String, of app: AppNumber, _ numbers: [Int64], since: PostgresTimestamp?
    ) -> PostgresStatement {
        """
        UPDATE \(identifier: table) SET unused_since = \(since)::timestamptz
        WHERE app_id = \(app.rawValue) AND number IN (\(sql: locked(in: table, of: app, numbers)))
        """
    }

    /// Deletes the rows that still have a mark that is not later than `last`.
    static func delete(
        from table: String, of app: AppNumber, _ numbers: [Int64], marked last: PostgresTimestamp
    ) -> PostgresStatement {
        """
        DELETE FROM \(identifier: table)
        WHERE app_id = \(app.rawValue) AND unused_since <= \(last)
            AND number IN (\(sql: locked(in: table, of: app, numbers)))
        """
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

public import PostgresClient
import PushRegistry
import RegistryStore

/// Creates partitions by time ahead of it: at the start of every service, once a day, and in clean-up. Rows without a
/// partition go to the default one, and stay there until they are old.
public enum Partitions {
    static let ahead = ISO8601Duration.days(92)
    private static let attemptsMax = 10
    private static let interval = Duration.seconds(24 * 60 * 60)

    /// Creates the missing partitions. If other sessions use a table all the time, its partition waits for the next
    /// call.
    ///
    /// - Parameter configuration: of the tables' owner, unless nothing is missing.
    /// - Returns: how many partitions it created.
    /// - Throws: `PostgresError`.
    @discardableResult
    public static func make(on configuration: PostgresConfiguration) async throws -> Int {
        try await PostgresSession.withSession(configuration) { try make($0) }
    }

    /// Calls `make` now and once a day until the task is cancelled.
    ///
    /// - Parameter failed: called with an error of `make`, which is tried again the next day.
    public static func run(
        on configuration: PostgresConfiguration, failed: @Sendable (any Error) -> Void = { _ in }
    ) async {
        while !Task.isCancelled {
            do { try await make(on: configuration) } catch { failed(error) }
            try? await Task.sleep(for: interval)
        }
    }

    private struct Missing {
        let parent: String
        let start: PostgresTimestamp
        let end: PostgresTimestamp
        /// Whether no row of its time arrives while it is being made.
        let isInFuture: Bool
    }

    private static func read(_ session: PostgresSession) throws -> [Missing] {
        try session.execute(PartitionStatements.missing(ahead.description)).map { row in
            Missing(
                parent: try row.decode(0), start: try row.decode(1), end: try row.decode(2),
                isInFuture: try row.decode(3))
        }
    }

    /// How many partitions are missing.
    static func missing(_ session: PostgresSession) throws -> Int { try read(session).count }

    static func make(_ session: PostgresSession) throws -> Int {
        for row in try session.execute(PartitionStatements.held()) {
            let parent: String = try row.decode(0)
            try? withTableLocks(session) { _ = try session.execute(PartitionStatements.release(parent).unprepared()) }
        }
        var (made, busy) = (0, Set<String>())
        for missing in try read(session) where !busy.contains(missing.parent) {
            do {
                made += try missing.isInFuture ? makeAhead(missing, session) : make(missing, session)
            } catch let error where error.leavesPartition {
                if error.isLockTimeout { busy.insert(missing.parent) }
            }
        }
        return made
    }

    private static func make(_ missing: Missing, _ session: PostgresSession) throws -> Int {
        try withTableLocks(session) {
            if !missing.isInFuture { try session.run(script: PartitionStatements.scanTimeout) }
            let make = PartitionStatements.make(missing.parent, from: missing.start, to: missing.end)
            return try session.execute(make)[0].decode(0, as: Bool.self) ? 1 : 0
        }
    }

    /// The default partition may be large: a constraint spares the scan under a lock that writers wait for.
    private static func makeAhead(_ missing: Missing, _ session: PostgresSession) throws -> Int {
        let parent = missing.parent
        try withTableLocks(session) {
            _ = try session.execute(PartitionStatements.hold(parent, from: missing.start, to: missing.end))
        }
        defer {
            try? withTableLocks(session) { _ = try session.execute(PartitionStatements.release(parent).unprepared()) }
        }
        _ = try session.execute(PartitionStatements.validate(parent).unprepared())
        return try make(missing, session)
    }

    /// Runs a transaction that locks tables. While a session waits for such a lock, all later statements on the table
    /// wait behind it. So the wait is short, and the transaction is retried.
    static func withTableLocks<Value>(_ session: PostgresSession, _ body: () throws -> Value) throws -> Value {
        for number in 1..<attemptsMax {
            do {
                return try withShortTimeout(session, body)
            } catch let error where error.isLockTimeout || error.isLostRace {
                try session.pause(for: .milliseconds(100 * number))
            }
        }
        return try withShortTimeout(session, body)
    }

    private static func withShortTimeout<Value>(
        _ session: PostgresSession, _ body: () throws -> Value
    ) throws -> Value {
        try session.withTransaction {
            try session.run(script: PartitionStatements.lockTimeout)
            return try body()
        }
    }
}

extension Error {
    /// Whether the partition waits for the next call: another session uses the table all the time; the default
    /// partition has rows of its time (23514), or is too large to scan under a lock; another service creates the
    /// partition (42P07), or its constraint (42710).
    fileprivate var leavesPartition: Bool {
        let error = self as? PostgresError
        return isLockTimeout || error?.kind == .queryCancelled
            || ["23514", "42P07", "42710"].contains(error?.sqlState ?? "")
    }
}

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

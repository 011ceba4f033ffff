public import PostgresClient

/// Creates the monthly partitions of history ahead of time: at the start of every service, once a day, and in clean-up;
/// with them those of receipts.
///
/// Rows without a partition go to the default one. If rows of the present month do, the default partition becomes the
/// partition of its months: no row moves, and no session waits for a scan.
public enum HistoryPartitions {
    /// How many months ahead partitions are created.
    static let monthsAhead: Int32 = 3
    private static let attemptsMax = 10
    private static let interval = Duration.seconds(24 * 60 * 60)

    private typealias History = HistoryPartitionStatements.History

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
            do {
                try await make(on: configuration)
                try await MessagePartitions.make(on: configuration)
            } catch {
                failed(error)
            }
            try? await Task.sleep(for: interval)
        }
    }

    /// How many partitions are missing.
    static func missing(_ session: PostgresSession) throws -> Int {
        try missingDays(session).count
    }

    private static func missingDays(_ session: PostgresSession) throws -> [(parent: String, day: String)] {
        try session.execute(PostgresStatement(HistoryPartitionStatements.missing, monthsAhead))
            .map { (try $0.decode(0), try $0.decode(1)) }
    }

    static func make(_ session: PostgresSession) throws -> Int {
        let hasLeftover: Bool = try session.execute(PostgresStatement(HistoryPartitionStatements.hasLeftover))[0]
            .decode(0)
        let missing = try missing(session)
        guard hasLeftover || missing > 0 else { return 0 }
        let isLocked: Bool = try session.execute(HistoryPartitionStatements.lock)[0].decode(0)
        guard isLocked else { return 0 }
        defer { _ = try? session.execute(HistoryPartitionStatements.unlock) }
        let events = try make(HistoryPartitionStatements.events, session)
        return try events + make(HistoryPartitionStatements.snapshots, session)
    }

    private static func make(_ history: History, _ session: PostgresSession) throws -> Int {
        do {
            try withTableLocks(session) { try session.run(HistoryPartitionStatements.unconstrain(history)) }
            let days = try missingDays(session).filter { $0.parent == history.name }.map(\.day)
            let extent = try session.execute(HistoryPartitionStatements.extent(of: history).unprepared())[0]
            let end: String = try extent.decode(1)
            guard !days.isEmpty, let first = try extent.decode(0, as: String?.self) else {
                return try create(days, of: history, session)
            }
            if let day = days.first, day < end, try absorb(history, from: first, to: end, session) {
                return try 1 + create(days.filter { $0 >= end }, of: history, session)
            }
            return try createBeside(days.filter { $0 >= end }, of: history, session)
        } catch let error where error.isLockTimeout {
            return 0
        }
    }

    private static func create(_ days: [String], of history: History, _ session: PostgresSession) throws -> Int {
        for day in days {
            try withTableLocks(session) { _ = try session.execute(HistoryPartitionStatements.make(history.name, day)) }
        }
        return days.count
    }

    /// Converts the default partition to a partition of its months. False if its rows do not lie in months that follow
    /// each other and have no partition.
    private static func absorb(
        _ history: History, from first: String, to end: String, _ session: PostgresSession
    ) throws -> Bool {
        do {
            try constraining(history, HistoryPartitionStatements.lies(history, from: first, to: end), session) {
                for sql in HistoryPartitionStatements.absorb(history, from: first, to: end) { try session.run(sql) }
            }
            return true
        } catch let error as PostgresError where error.isRefusedBound {
            return false
        }
    }

    /// Creates partitions of future months while the default partition has rows, but none of these months.
    private static func createBeside(_ days: [String], of history: History, _ session: PostgresSession) throws -> Int {
        guard let first = days.first else { return 0 }
        let isBefore: PostgresSQL =
            "\(sql: history.month) < \(sql: HistoryPartitionStatements.instant(first))"
        do {
            try constraining(history, isBefore, session) {
                for day in days { _ = try session.execute(HistoryPartitionStatements.make(history.name, day)) }
            }
            return days.count
        } catch let error as PostgresError where error.isRefusedBound {
            return 0
        }
    }

    /// Runs `body` as a transaction while the rows of the default partition are known to fulfil a condition, as all
    /// rows do that come meanwhile.
    private static func constraining(
        _ history: History, _ condition: PostgresSQL, _ session: PostgresSession, _ body: () throws -> Void
    ) throws {
        do {
            for sql in HistoryPartitionStatements.constrain(history, condition) {
                try withTableLocks(session) { try session.run(sql) }
            }
            try withTableLocks(session, body)
        } catch {
            try? withTableLocks(session) { try session.run(HistoryPartitionStatements.unconstrain(history)) }
            throw error
        }
        try withTableLocks(session) { try session.run(HistoryPartitionStatements.unconstrain(history)) }
    }

    /// Runs a transaction that locks tables. While a session waits for such a lock, all later statements on the table
    /// wait behind it. So the wait is short, and the transaction is retried.
    static func withTableLocks(_ session: PostgresSession, _ body: () throws -> Void) throws {
        for number in 1..<attemptsMax {
            do {
                return try withShortTimeout(session, body)
            } catch let error where error.isLockTimeout || error.isLostRace {
                try session.checkCancellation()
                CleanUpPace.sleep(.milliseconds(100 * number))
            }
        }
        try withShortTimeout(session, body)
    }

    private static func withShortTimeout(_ session: PostgresSession, _ body: () throws -> Void) throws {
        try session.withTransaction {
            try session.run(script: HistoryPartitionStatements.lockTimeout)
            try body()
        }
    }
}

extension PostgresSession {
    /// Runs DDL.
    fileprivate func run(_ sql: PostgresSQL) throws {
        _ = try execute(PostgresStatement(sql).unprepared())
    }
}

extension PostgresError {
    /// A row is out of the bounds (23514), or they overlap those of another partition (42P17).
    fileprivate var isRefusedBound: Bool { sqlState == "23514" || sqlState == "42P17" }
}

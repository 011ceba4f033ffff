import PostgresClient
import PushRegistry

/// One transaction that folds an app's deltas into the levels, and sweeps its expired sessions. A value that returns
/// the statements to send, so that a loop's connection and a blocking session drive the same steps.
///
/// The transaction locks the app's row of `rollup_state`, so one fold runs at a time. If it fails, nothing has changed.
public struct RollUpFold {
    public struct Outcome: Hashable, Sendable {
        public var deltas = 0
        /// Rows of expired sessions: of one moment and cell each.
        public var expiries = 0

        /// Whether a batch was full, so that more may wait.
        public var isFull = false
    }

    private struct Lock {
        let horizon: Int64
        /// The oldest transaction that ran before the deltas were read.
        let oldest: Int64
        let time: PostgresTimestamp
    }

    private enum Phase {
        case locking
        case folding(Lock)
        case sweeping
        case removing
    }

    private let app: AppNumber
    private let batch: Int64
    private var phase = Phase.locking
    /// Nil if another session folds this app.
    private(set) var outcome: Outcome?

    init(_ app: AppNumber, batch: Int) {
        self.app = app
        self.batch = Int64(batch)
    }

    /// The first unit to send.
    var first: [PostgresStatement] { [RollUpStatements.moment, RollUpStatements.lock(app)] }

    /// The next unit after these results; nil at the end.
    mutating func next(_ results: [PostgresResult]) throws -> [PostgresStatement]? {
        switch phase {
        case .locking: try lock(results)
        case .folding(let lock): try fold(results, lock)
        case .sweeping: try sweep(results)
        case .removing: nil
        }
    }

    private mutating func lock(_ results: [PostgresResult]) throws -> [PostgresStatement]? {
        guard let locked = results[1].first else { return nil }
        let (moment, horizon) = (try results[0][0], try locked.decode(0, as: Int64.self))
        // A horizon in the future comes from a database that was dumped.
        let isFuture = horizon > (try moment.decode(1, as: Int64.self))
        let lock = Lock(horizon: isFuture ? 0 : horizon, oldest: try moment.decode(0), time: try moment.decode(2))
        outcome = Outcome()
        phase = .folding(lock)
        return [
            RollUpStatements.settings, RollUpStatements.fold(app, from: lock.horizon, batch: batch),
            RollUpStatements.hasExpired(app, at: lock.time),
        ]
    }

    private mutating func fold(_ results: [PostgresResult], _ lock: Lock) throws -> [PostgresStatement]? {
        let row = try results[1][0]
        let deltas: Int64 = try row.decode(0)
        outcome?.deltas = Int(deltas)
        outcome?.isFull = deltas >= batch
        var unit = try removals(row, from: 3)
        let expiries: [String] = try row.decode(2)
        if !expiries.isEmpty { unit.append(RollUpStatements.removeExpiries(expiries, app)) }
        if deltas > 0, let last = try row.decode(1, as: Int64?.self) {
            unit.append(RollUpStatements.setHorizon(app, deltas < batch ? lock.oldest : min(lock.oldest, last)))
        }
        guard try results[2][0].decode(0) else {
            phase = .removing
            return unit.isEmpty ? nil : unit
        }
        phase = .sweeping
        unit.append(RollUpStatements.advanceClock(to: lock.time))
        return unit + [RollUpStatements.sweep(app, until: lock.time, batch: batch)]
    }

    private mutating func sweep(_ results: [PostgresResult]) throws -> [PostgresStatement]? {
        let row = try results[results.count - 1][0]
        let expiries: Int64 = try row.decode(0)
        outcome?.expiries = Int(expiries)
        if expiries >= batch { outcome?.isFull = true }
        phase = .removing
        let unit = try removals(row, from: 1)
        return unit.isEmpty ? nil : unit
    }

    private func removals(_ row: PostgresRow, from first: Int) throws -> [PostgresStatement] {
        try RollUpLevel.all.enumerated().compactMap { number, level in
            let rows: [String] = try row.decode(first + number)
            return rows.isEmpty ? nil : RollUpStatements.remove(rows, of: level, app)
        }
    }
}

// MARK: - Drivers

extension RollUpFold {
    /// The most deltas of a transaction: in a larger batch, more deltas change the same row.
    public static let batchMax = 50_000

    /// Folds once.
    ///
    /// - Returns: nil if another session folds this app.
    /// - Throws: `PostgresError`.
    public static func run(_ app: AppNumber, batch: Int = batchMax, on postgres: PostgresClient) async throws
        -> Outcome?
    {
        _ = try await postgres.execute(RollUpStatements.addState(app))
        return try await postgres.withTransaction { transaction in
            var fold = RollUpFold(app, batch: batch)
            var unit: [PostgresStatement]? = fold.first
            while let statements = unit { unit = try fold.next(try await transaction.execute(statements)) }
            return fold.outcome
        }
    }

    /// Folds once.
    public static func run(_ app: AppNumber, batch: Int = batchMax, in session: PostgresSession) throws -> Outcome? {
        _ = try session.execute(RollUpStatements.addState(app))
        return try session.withTransaction {
            var fold = RollUpFold(app, batch: batch)
            var unit: [PostgresStatement]? = fold.first
            while let statements = unit { unit = try fold.next(try statements.map(session.execute)) }
            return fold.outcome
        }
    }

    /// Folds all waiting deltas of all apps, for benchmarks and tests.
    ///
    /// - Returns: how many deltas.
    /// - Throws: `PostgresError`; `cancelled` between two transactions if the task is cancelled.
    @discardableResult
    public static func runAll(in session: PostgresSession) throws -> Int {
        try session.execute(RollUpStatements.allApps)
            .reduce(0) { try $0 + runAll(AppNumber(try $1.decode(0)), in: session) }
    }

    /// Folds all waiting deltas of an app.
    static func runAll(_ app: AppNumber, in session: PostgresSession) throws -> Int {
        var deltas = 0
        while let outcome = try run(app, in: session) {
            deltas += outcome.deltas
            guard outcome.isFull else { break }
            try session.checkCancellation()
        }
        return deltas
    }
}

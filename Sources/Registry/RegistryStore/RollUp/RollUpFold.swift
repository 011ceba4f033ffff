import PostgresClient
import PushRegistry

/// One transaction that folds an app's deltas into the cube, and sweeps its expired sessions. A value that returns the
/// statements to send, so that a loop's connection and a blocking session drive the same steps.
///
/// The transaction locks the app's row of `rollup_state`, so one fold runs at a time. If it fails, nothing has changed.
public struct RollUpFold {
    public struct Outcome: Hashable, Sendable {
        public var deltas = 0
        /// Rows of expired sessions: of one moment and cell each.
        public var expiries = 0
        /// Folded deltas that were kept for ten minutes.
        public var removed = 0

        /// Whether a batch was full, so that more may wait.
        public var isFull = false
    }

    private struct Lock {
        let horizon: Int64
        let folded: Int64
        let marks: [Int64]
        let isMarkDue: Bool
        /// The oldest transaction that ran before the deltas were read.
        let oldest: Int64
        let transaction: Int64
        /// The present time, or that of the last sweep if the clock was set back.
        let time: PostgresTimestamp
    }

    private enum Phase {
        case locking
        case bounding(Lock)
        case folding(Lock, horizon: Int64)
        case finishing(removal: Int?, sweep: Int?)
    }

    private let app: AppNumber
    private let batch: Int64
    private var phase = Phase.locking
    /// Nil if another session folds this app.
    package private(set) var outcome: Outcome?

    package init(_ app: AppNumber, batch: Int) {
        self.app = app
        self.batch = Int64(batch)
    }

    /// The first unit to send.
    package var first: [PostgresStatement] { [RollUpStatements.moment, RollUpStatements.lock(app)] }

    /// The next unit after these results; nil at the end.
    package mutating func next(_ results: [PostgresResult]) throws -> [PostgresStatement]? {
        switch phase {
        case .locking: return try lock(results)
        case .bounding(let lock): return try bound(results, lock)
        case .folding(let lock, let horizon): return try finish(results, lock, horizon)
        case .finishing(let removal, let sweep):
            if let removal { outcome?.removed = results[removal].affectedRows }
            guard let sweep else { return nil }
            let expiries: Int64 = try results[sweep][0].decode(0)
            outcome?.expiries = Int(expiries)
            if expiries >= batch { outcome?.isFull = true }
            return nil
        }
    }

    private mutating func lock(_ results: [PostgresResult]) throws -> [PostgresStatement]? {
        guard let state = results[1].first else { return nil }
        let moment = try results[0][0]
        let now: PostgresTimestamp = try moment.decode(2)
        let lock = Lock(
            horizon: try state.decode(0), folded: try state.decode(1), marks: try state.decode(2),
            isMarkDue: try state.decode(3), oldest: try moment.decode(0), transaction: try moment.decode(1),
            time: max(now, try state.decode(4, as: PostgresTimestamp?.self) ?? now))
        outcome = Outcome()
        phase = .bounding(lock)
        return [
            RollUpStatements.settings,
            RollUpStatements.bound(app, from: lock.horizon, to: lock.oldest, batch: batch),
        ]
    }

    private mutating func bound(_ results: [PostgresResult], _ lock: Lock) throws -> [PostgresStatement]? {
        let row = try results[1][0]
        outcome?.isFull = try row.decode(0, as: Int64.self) >= batch
        // The horizon never goes back.
        let horizon = max(lock.horizon, try row.decode(1, as: Int64.self))
        phase = .folding(lock, horizon: horizon)
        return [
            RollUpStatements.fold(app, from: lock.horizon, to: horizon),
            RollUpStatements.hasExpired(app, at: lock.time),
        ]
    }

    private mutating func finish(
        _ results: [PostgresResult], _ lock: Lock, _ horizon: Int64
    ) throws -> [PostgresStatement]? {
        let row = try results[0][0]
        let deltas: Int64 = try row.decode(0)
        outcome?.deltas = Int(deltas)
        let marks = lock.isMarkDue ? Array((lock.marks + [horizon]).suffix(RollUpStatements.marksMax)) : lock.marks
        let hasExpired: Bool = try results[1][0].decode(0)
        var unit = [
            RollUpStatements.setState(
                app, horizon: horizon, folded: lock.folded + deltas, marks: marks, isMarked: lock.isMarkDue,
                sweptUntil: hasExpired ? lock.time : nil)
        ]
        let (rows, expiries) = (try row.decode(1, as: [String].self), try row.decode(2, as: [String].self))
        if !rows.isEmpty { unit.append(RollUpStatements.remove(rows, app)) }
        if !expiries.isEmpty { unit.append(RollUpStatements.removeExpiries(expiries, app)) }
        var (removal, sweep): (Int?, Int?)
        if let first = lock.marks.first, marks[0] > first {
            removal = unit.count
            unit.append(RollUpStatements.removeDeltas(app, from: first, to: marks[0]))
        }
        if hasExpired {
            sweep = unit.count
            unit.append(RollUpStatements.sweep(app, until: lock.time, batch: batch, by: lock.transaction))
        }
        phase = .finishing(removal: removal, sweep: sweep)
        return unit
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
        try await postgres.withTransaction { transaction in
            var fold = RollUpFold(app, batch: batch)
            var unit: [PostgresStatement]? = fold.first
            while let statements = unit { unit = try fold.next(try await transaction.execute(statements)) }
            return fold.outcome
        }
    }
}

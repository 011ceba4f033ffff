import PostgresClient
import PushRegistry

/// One transaction that folds an app's deltas into the cube, and sweeps its expired sessions.
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

    private let app: AppNumber
    private let batch: Int64
    private let horizon: Int64
    private let folded: Int64
    private let marks: [Int64]
    private let isMarkDue: Bool
    /// The oldest transaction that ran before the deltas were read.
    private let oldest: Int64
    private let transaction: Int64
    /// The present time, or that of the last sweep if the clock was set back.
    private let time: PostgresTimestamp

    /// The steps of the transaction. They end with nil if another session folds this app.
    package static func steps(_ app: AppNumber, batch: Int) -> Steps<Outcome?> {
        .send([RollUpStatements.moment, RollUpStatements.lock(app)]) { results in
            guard let state = results[1].first else { return .end(nil) }
            return try RollUpFold(app, batch: Int64(batch), state, at: results[0][0]).bound
        }
    }

    private init(_ app: AppNumber, batch: Int64, _ state: PostgresRow, at moment: PostgresRow) throws {
        (self.app, self.batch) = (app, batch)
        (horizon, folded) = (try state.decode(0), try state.decode(1))
        (marks, isMarkDue) = (try state.decode(2), try state.decode(3))
        (oldest, transaction) = (try moment.decode(0), try moment.decode(1))
        let now: PostgresTimestamp = try moment.decode(2)
        time = max(now, try state.decode(4, as: PostgresTimestamp?.self) ?? now)
    }

    private var bound: Steps<Outcome?> {
        .send([
            RollUpStatements.settings, RollUpStatements.bound(app, from: horizon, to: oldest, batch: batch),
        ]) { results in
            let row = try results[1][0]
            // The horizon never goes back.
            return fold(to: max(horizon, try row.decode(1)), isFull: try row.decode(0, as: Int64.self) >= batch)
        }
    }

    private func fold(to end: Int64, isFull: Bool) -> Steps<Outcome?> {
        .send([
            RollUpStatements.fold(app, from: horizon, to: end).unprepared(),
            RollUpStatements.hasExpired(app, at: time),
        ]) { results in
            let row = try results[0][0]
            return try finish(
                at: end, Outcome(deltas: try row.decode(0), isFull: isFull), emptyRows: row.decode(1),
                emptyExpiries: row.decode(2), hasExpired: results[1][0].decode(0))
        }
    }

    private func finish(
        at end: Int64, _ outcome: Outcome, emptyRows: [String], emptyExpiries: [String], hasExpired: Bool
    ) -> Steps<Outcome?> {
        let marks = isMarkDue ? Array((marks + [end]).suffix(RollUpStatements.marksMax)) : marks
        var unit = [
            RollUpStatements.setState(
                app, horizon: end, folded: folded + Int64(outcome.deltas), marks: marks, isMarked: isMarkDue,
                sweptUntil: hasExpired ? time : nil)
        ]
        if !emptyRows.isEmpty { unit.append(RollUpStatements.remove(emptyRows, app).unprepared()) }
        if !emptyExpiries.isEmpty {
            unit.append(RollUpStatements.removeExpiries(emptyExpiries, app).unprepared())
        }
        let isRemovalDue = self.marks.first.map { $0 < marks[0] } ?? false
        if isRemovalDue { unit.append(RollUpStatements.removeDeltas(app, from: self.marks[0], to: marks[0])) }
        let removal = unit.count - 1
        let sweep = RollUpStatements.sweep(app, until: time, batch: batch, by: transaction).unprepared()
        if hasExpired { unit.append(sweep) }
        return .send(unit) { results in
            var outcome = outcome
            if isRemovalDue { outcome.removed = results[removal].affectedRows }
            if hasExpired { outcome.expiries = try results[removal + 1][0].decode(0) }
            if outcome.expiries >= Int(batch) { outcome.isFull = true }
            return .end(outcome)
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
        try await postgres.withTransaction { transaction in
            try await steps(app, batch: batch).run { try await transaction.execute($0) }
        }
    }
}

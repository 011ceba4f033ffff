import PostgresClient
import PushRegistry

/// Registrations on Citus that change nothing but their own snapshot, keys, session expiry or `lastSeenAt`: one
/// transaction of a few plain statements without locks, which Citus executes on the app's node. They write only rows
/// that have not changed since the look-up.
///
/// New installations and changes of bindings are decided under locks instead.
struct ChangesOnCitus {
    private let app: AppNumber
    private var changed: [(index: Int, row: ChangedRow)] = []
    private var touched: [(index: Int, pending: PendingRegistration, found: RegistrationFinding.Bound)] = []
    /// The latest time of their look-ups.
    private var now = Timestamp(microseconds: 0)

    /// - Parameter cells: of each registration of the batch.
    init(_ batch: [PendingRegistration], cells: [Int64]) {
        app = batch[0].app
        for (index, (pending, cell)) in zip(batch, cells).enumerated() {
            guard case .bound(let found) = pending.finding,
                pending.registration.precondition?.holds(for: found.generation) ?? true
            else { continue }
            now = max(now, found.readAt)
            if found.isSame {
                touched.append((index, pending, found))
            } else {
                changed.append((index, ChangedRow(pending: pending, found: found, cell: cell)))
            }
        }
        // Rows are locked in the order of their keys.
        changed.sort { $0.row.pending.key.rawValue < $1.row.pending.key.rawValue }
        touched.sort { $0.pending.key.rawValue < $1.pending.key.rawValue }
    }

    /// - Returns: outcomes by their index in the batch. Registrations without one must be decided under locks.
    /// - Throws: `LostRace`, `PostgresError`: nothing was written.
    func write(_ postgres: PostgresClient) async throws -> [Int: RegistrationOutcome] {
        guard !changed.isEmpty || !touched.isEmpty else { return [:] }
        let snapshots = changed.map(\.row).filter { !$0.found.hasSnapshot }
        let kept = snapshots.isEmpty ? [] : [keep(snapshots)]
        let statements = kept + (changed.isEmpty ? [] : [change]) + (touched.isEmpty ? [] : [touch])
        return try await postgres.withTransaction(.readCommitted) { transaction in
            var results = try await transaction.execute(statements)[...]
            if !snapshots.isEmpty, results.removeFirst().affectedRows != snapshots.count { throw LostRace() }
            var outcomes: [Int: RegistrationOutcome] = [:]
            var delta = RollUpDelta()
            if !changed.isEmpty {
                let rows = results.removeFirst()
                let times = try lastSeen(rows, count: changed.count)
                let topics = try topics(rows)
                for (index, row) in changed {
                    outcomes[index] = try outcome(.updated, row.pending, row.found, times)
                    delta.move(row, topics: topics[row.pending.key.rawValue] ?? TopicChoices())
                }
            }
            if !touched.isEmpty {
                let times = try lastSeen(results.removeFirst(), count: touched.count)
                for (index, pending, found) in touched {
                    outcomes[index] = try outcome(.unchanged, pending, found, times)
                }
            }
            try await transaction.commit(after: delta.statement(in: app).map { [$0] } ?? [])
            return outcomes
        }
    }

    private func lastSeen(_ rows: PostgresResult, count: Int) throws -> [String: Timestamp] {
        guard rows.count == count else { throw LostRace() }
        return try Dictionary(
            uniqueKeysWithValues: rows.map { row in
                (try row.decode(0, as: String.self), Timestamp(try row.decode(1, as: PostgresTimestamp.self)))
            })
    }

    /// The choices of the installations that have some.
    private func topics(_ rows: PostgresResult) throws -> [String: TopicChoices] {
        try rows.reduce(into: [:]) { topics, row in
            guard let codes = try row.decode(2, as: [Int32]?.self) else { return }
            topics[try row.decode(0)] = TopicChoices(codes: codes)
        }
    }

    private func outcome(
        _ status: RegistrationOutcome.Status, _ pending: PendingRegistration, _ found: RegistrationFinding.Bound,
        _ times: [String: Timestamp]
    ) throws -> RegistrationOutcome {
        guard let lastSeenAt = times[pending.key.rawValue] else { throw LostRace() }
        return RegistrationOutcome(
            status: status, generation: found.generation, epoch: found.epoch, state: .active,
            userID: pending.registration.owner?.userID, lastSeenAt: lastSeenAt)
    }

    // MARK: Statements

    private func keep(_ rows: [ChangedRow]) -> PostgresStatement {
        PostgresStatement(
            RegistrationStatements.keepRevisions, app.rawValue, now.postgres, rows.map(\.pending.key.rawValue),
            rows.map(\.found.revision))
    }

    private var change: PostgresStatement {
        ChangedRow.layout.statement(RegistrationStatements.changeAlone, changed.map(\.row)) { binds in
            binds.bind(app.rawValue)
            binds.bind(now.postgres)
        }
    }

    private var touch: PostgresStatement {
        PostgresStatement(
            RegistrationStatements.touch, app.rawValue, now.postgres, touched.map(\.pending.key.rawValue),
            touched.map(\.found.revision))
    }
}

extension RollUpDelta {
    /// Moves an active installation to another cell or session expiry.
    fileprivate mutating func move(_ row: ChangedRow, topics: TopicChoices) {
        let session = row.pending.registration.owner?.session
        move(
            from: row.found.cell, expiringAt: row.found.sessionExpiresAt, to: row.cell,
            expiringAt: session?.expiresAt, topics: topics)
    }
}

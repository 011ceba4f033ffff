import PostgresClient
import PushRegistry

/// Registrations that change nothing but their own snapshot, keys, session expiry or `lastSeenAt` (R2). They need no
/// lock: the statements write only rows that have not changed since the look-up.
struct ChangedRegistrations {
    private let app: AppNumber
    /// The index of each row's registration in the batch. Rows are locked in the order of their keys.
    private let changed: [(index: Int, row: ChangedRow)]
    private let touched: [(index: Int, row: ChangedRow)]
    /// The latest time of their look-ups.
    private let now: Timestamp

    /// - Parameter cells: of each registration of the batch.
    init(_ batch: [PendingRegistration], cells: [Int64]) {
        app = batch[0].app
        let rows: [(index: Int, row: ChangedRow)] = zip(batch, cells).enumerated().compactMap { index, item in
            guard case .bound(let found) = item.0.finding,
                item.0.registration.precondition?.holds(for: found.generation) ?? true
            else { return nil }
            return (index, ChangedRow(pending: item.0, found: found, cell: item.1))
        }
        .sorted { $0.row.pending.key.rawValue < $1.row.pending.key.rawValue }
        changed = rows.filter { !$0.row.found.isSame }
        touched = rows.filter(\.row.found.isSame)
        now = rows.map(\.row.found.readAt).max() ?? Timestamp(microseconds: 0)
    }

    var isEmpty: Bool { changed.isEmpty && touched.isEmpty }

    /// Writes them as one transaction: in one trip, and in two on Citus, where a statement whose parts use each other's
    /// rows fails while any node is away.
    ///
    /// - Returns: outcomes by their index in the batch. Registrations without one must be decided under locks.
    /// - Throws: `LostRace`, `PostgresError`: nothing was written.
    func write(_ postgres: PostgresClient) async throws -> [Int: RegistrationOutcome] {
        guard !postgres.isDistributed else { return try await writeOnCitus(postgres) }
        let statements = changeStatements(RegistrationStatements.change) + touchStatements
        let results = try await postgres.withConnection {
            try await $0.execute(statements, timeout: postgres.limits.unitTimeout)
        }
        return try outcomes(results)
    }

    private func writeOnCitus(_ postgres: PostgresClient) async throws -> [Int: RegistrationOutcome] {
        let replaced = changed.map(\.row).filter { !$0.found.hasSnapshot }
        let keep =
            replaced.isEmpty
            ? []
            : [
                PostgresStatement(
                    RegistrationStatements.keepRevisions, app.rawValue, now.postgres,
                    replaced.map(\.pending.key.rawValue), replaced.map(\.found.revision))
            ]
        let statements = keep + changeStatements(RegistrationStatements.changeAlone) + touchStatements
        return try await postgres.withTransaction(.readCommitted) { transaction in
            let results = try await transaction.execute(statements)
            let rows = Array(results.dropFirst(keep.count))
            let outcomes = try outcomes(rows)
            guard outcomes.count == changed.count + touched.count,
                keep.isEmpty || results[0].affectedRows == replaced.count
            else { throw LostRace() }
            let delta = changed.isEmpty ? RollUpDelta() : try delta(rows[0])
            try await transaction.commit(after: delta.statement(in: app).map { [$0] } ?? [])
            return outcomes
        }
    }

    // MARK: Statements

    private func changeStatements(_ prepared: PreparedSQL) -> [PostgresStatement] {
        guard !changed.isEmpty else { return [] }
        return [
            ChangedRow.layout.statement(prepared, changed.map(\.row)) { binds in
                binds.bind(app.rawValue)
                binds.bind(now.postgres)
            }
        ]
    }

    private var touchStatements: [PostgresStatement] {
        guard !touched.isEmpty else { return [] }
        return [
            PostgresStatement(
                RegistrationStatements.touch, app.rawValue, now.postgres, touched.map(\.row.pending.key.rawValue),
                touched.map(\.row.found.revision))
        ]
    }

    // MARK: Results

    /// - Parameter results: of the changes, then of the touches.
    private func outcomes(_ results: [PostgresResult]) throws -> [Int: RegistrationOutcome] {
        let times = try Dictionary(
            results.joined().map { row in
                (try row.decode(0, as: String.self), Timestamp(try row.decode(1, as: PostgresTimestamp.self)))
            }, uniquingKeysWith: { first, _ in first })
        return (changed + touched).reduce(into: [:]) { outcomes, item in
            let (pending, found) = (item.row.pending, item.row.found)
            guard let lastSeenAt = times[pending.key.rawValue] else { return }
            outcomes[item.index] = RegistrationOutcome(
                status: found.isSame ? .unchanged : .updated, generation: found.generation, epoch: found.epoch,
                provider: pending.registration.token.provider, state: .active,
                userID: pending.registration.owner?.userID, lastSeenAt: lastSeenAt)
        }
    }

    /// - Parameter rows: of `RegistrationStatements.changeAlone`, with the choices of the installations that have some.
    private func delta(_ rows: PostgresResult) throws -> RollUpDelta {
        let topics: [String: TopicChoices] = try rows.reduce(into: [:]) { topics, row in
            guard let codes = try row.decode(2, as: [Int32]?.self) else { return }
            topics[try row.decode(0)] = TopicChoices(codes: codes)
        }
        return changed.reduce(into: RollUpDelta()) { delta, item in
            delta.move(
                from: item.row.found.cell, expiringAt: item.row.found.sessionExpiresAt, to: item.row.cell,
                expiringAt: item.row.pending.registration.owner?.session?.expiresAt,
                topics: topics[item.row.pending.key.rawValue] ?? TopicChoices())
        }
    }
}

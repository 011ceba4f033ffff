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

    /// Writes all of them as one transaction, in one trip.
    ///
    /// - Returns: outcomes by their index in the batch. The other registrations must be decided under locks.
    /// - Throws: `PostgresError`: nothing was written.
    func write(_ postgres: PostgresClient) async throws -> [Int: RegistrationOutcome] {
        _ = try await postgres.withTransaction(.readCommitted) { try await $0.commit(after: statements) }
        return Dictionary(uniqueKeysWithValues: (changed + touched).map { ($0.index, outcome(of: $0.row)) })
    }

    private var statements: [PostgresStatement] {
        let replaced = changed.map(\.row).filter { !$0.found.hasSnapshot }.map { ($0.pending.key, $0.found.revision) }
        let recounted = recounted
        return [
            recounted.isEmpty ? nil : RollUpDeltaStatements.tokens(of: recounted, step: -1, in: app),
            replaced.isEmpty ? nil : SnapshotStatements.keep(replaced, in: app, at: now),
            ChangedRow.layout.statement(RegistrationStatements.change, changed.map(\.row), of: app, at: now),
            touched.isEmpty
                ? nil
                : RegistrationStatements.touch(
                    app.rawValue, now.postgres, touched.map(\.row.pending.key.rawValue),
                    touched.map(\.row.found.revision)),
            delta.statement(in: app),
            recounted.isEmpty ? nil : RollUpDeltaStatements.tokens(of: recounted, step: 1, in: app),
        ].compactMap(\.self)
    }

    /// The installations whose typed tokens, if they have any, count elsewhere.
    private var recounted: [InstallID] {
        changed.map(\.row).filter {
            $0.pending.registration.token.provider.isApple
                && ($0.found.cell != $0.cell || $0.found.sessionExpiresAt != $0.sessionExpiresAt)
        }.map(\.pending.key)
    }

    private var delta: RollUpDelta {
        changed.reduce(into: RollUpDelta()) { delta, item in
            let (row, found) = (item.row, item.row.found)
            delta.addActive(in: found.cell, expiringAt: found.sessionExpiresAt, topics: found.topics, step: -1)
            delta.addActive(in: row.cell, expiringAt: row.sessionExpiresAt, topics: found.topics)
        }
    }

    private func outcome(of row: ChangedRow) -> RegistrationOutcome {
        RegistrationOutcome(
            status: row.found.isSame ? .unchanged : .updated, generation: row.found.generation,
            epoch: row.found.epoch, provider: row.pending.registration.token.provider, state: .active,
            userID: row.pending.registration.owner?.userID, lastSeenAt: max(row.found.lastSeenAt, now),
            expiredTokens: row.found.expiredTokens)
    }
}

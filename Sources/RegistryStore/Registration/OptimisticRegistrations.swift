import PostgresClient
import PushRegistry

/// Registrations that are written in one round trip without separate locks: new installations, also those that take a
/// token from its holder, other owners of a token, and other snapshots under the same binding. Each statement writes
/// only rows that have not changed since the look-up.
struct OptimisticRegistrations {
    let app: AppNumber
    /// The index of each row's registration in the batch.
    private var changed: [(index: Int, row: ChangedRow)] = []
    private var rebound: [(index: Int, row: OwnerChangeRow)] = []
    private var touched: [(index: Int, pending: PendingRegistration, found: RegistrationFinding.Bound)] = []
    /// New installations of one actor; those of another actor are decided under locks.
    private var created: [(index: Int, row: CreatedRow)] = []
    /// Those of them that take their tokens from other installations.
    private var taking: [(index: Int, row: CreatedRow)] = []
    /// The latest time of their look-ups.
    private var now = Timestamp(microseconds: 0)

    /// - Parameter cells: of each registration of the batch.
    init(_ batch: [PendingRegistration], cells: [Int64]) {
        app = batch[0].app
        for (index, (pending, cell)) in zip(batch, cells).enumerated() { add(pending, cell, index) }
        // Rows are locked, and tokens claimed, in the order of their keys.
        created.sort { $0.row.address.precedesInLockOrder($1.row.address) }
        taking.sort { $0.row.address.precedesInLockOrder($1.row.address) }
        rebound.sort { $0.row.pending.key.rawValue < $1.row.pending.key.rawValue }
        changed.sort { $0.row.pending.key.rawValue < $1.row.pending.key.rawValue }
        touched.sort { $0.pending.key.rawValue < $1.pending.key.rawValue }
    }

    private mutating func add(_ pending: PendingRegistration, _ cell: Int64, _ index: Int) {
        let precondition = pending.registration.precondition
        switch pending.finding {
        case .bound(let found) where precondition?.holds(for: found.generation) ?? true:
            now = max(now, found.readAt)
            if found.isSame {
                touched.append((index, pending, found))
            } else {
                changed.append((index, ChangedRow(pending: pending, found: found, cell: cell)))
            }
        case .boundToOther(let found) where precondition?.holds(for: found.generation) ?? true:
            now = max(now, found.readAt)
            rebound.append((index, OwnerChangeRow(pending: pending, found: found, cell: cell)))
        case .absent(let time) where precondition == nil && pending.registration.topics.isEmpty:
            guard isOfActor(pending) else { return }
            now = max(now, time)
            created.append((index, CreatedRow(pending: pending, cell: cell)))
        case .claimed(let time) where precondition == nil && pending.registration.topics.isEmpty:
            guard isOfActor(pending) else { return }
            now = max(now, time)
            taking.append((index, CreatedRow(pending: pending, cell: cell)))
        default: break
        }
    }

    /// Of all new installations.
    private var actor: String? { (created.first ?? taking.first)?.row.actor }

    private func isOfActor(_ pending: PendingRegistration) -> Bool {
        actor.map { $0 == pending.registration.actor } ?? true
    }

    var isEmpty: Bool {
        changed.isEmpty && rebound.isEmpty && touched.isEmpty && created.isEmpty && taking.isEmpty
    }

    /// Writes them as one transaction.
    ///
    /// - Returns: outcomes by their index in the batch. Registrations without one must be decided under locks.
    /// - Throws: `PostgresError`: nothing was written.
    func write(_ postgres: PostgresClient) async throws -> [Int: RegistrationOutcome] {
        let guards = RegistrationGuards((created + taking).map(\.row.pending) + rebound.map(\.row.pending))
        var statements = guards?.locks ?? []
        let first = statements.count
        if !taking.isEmpty { statements.append(takeOverStatement) }
        if !created.isEmpty { statements.append(createStatement) }
        if !rebound.isEmpty { statements.append(ownerStatement) }
        if !changed.isEmpty { statements.append(changeStatement) }
        if !touched.isEmpty { statements.append(touchStatement) }
        if !created.isEmpty || !taking.isEmpty { statements.append(orderCheck) }
        let results = try await postgres.withConnection { [statements] in
            try await $0.execute(statements, timeout: postgres.limits.unitTimeout)
        }
        var rest = results[first...]
        var outcomes: [Int: RegistrationOutcome] = [:]
        if !taking.isEmpty { try addTaking(to: &outcomes, rest.removeFirst()) }
        if !created.isEmpty { try addCreated(to: &outcomes, rest.removeFirst()) }
        if !rebound.isEmpty { try addRebound(to: &outcomes, rest.removeFirst()) }
        if !changed.isEmpty { try addChanged(to: &outcomes, rest.removeFirst()) }
        if !touched.isEmpty { try addTouched(to: &outcomes, rest.removeFirst()) }
        return outcomes
    }
}

// MARK: - Statements

extension OptimisticRegistrations {
    /// A new installation's generation is its own microsecond, above every generation that a deleted one of this id
    /// had: each began at its own microsecond and was incremented with each change.
    private var firstGeneration: Int64 { now.microseconds }

    private var createStatement: PostgresStatement {
        CreatedRow.layout.statement(CreationStatements.create, created.map(\.row), scalars: bindCreation)
    }

    private var takeOverStatement: PostgresStatement {
        CreatedRow.layout.statement(CreationStatements.takeOver, taking.map(\.row), scalars: bindCreation)
    }

    private func bindCreation(_ binds: inout PostgresBinds) {
        binds.bind(app.rawValue)
        binds.bind(now.postgres)
        binds.bind(firstGeneration)
        binds.bind(actor)
    }

    private var orderCheck: PostgresStatement {
        let ids = (created + taking).map(\.row.pending.key.rawValue)
        return RegistrationStatements.checkOrder(of: ids, in: app, at: now)
    }

    private var ownerStatement: PostgresStatement {
        OwnerChangeRow.layout.statement(OwnerChangeStatements.changeOwner, rebound.map(\.row), scalars: bindAppAndTime)
    }

    private var changeStatement: PostgresStatement {
        ChangedRow.layout.statement(RegistrationStatements.change, changed.map(\.row), scalars: bindAppAndTime)
    }

    private func bindAppAndTime(_ binds: inout PostgresBinds) {
        binds.bind(app.rawValue)
        binds.bind(now.postgres)
    }

    private var touchStatement: PostgresStatement {
        PostgresStatement(
            RegistrationStatements.touch, app.rawValue, now.postgres, touched.map(\.pending.key.rawValue),
            touched.map(\.found.revision))
    }
}

// MARK: - Outcomes

extension OptimisticRegistrations {
    private func addCreated(to outcomes: inout [Int: RegistrationOutcome], _ rows: PostgresResult) throws {
        let written = try Self.outcomes(of: created, rows)
        outcomes.merge(written) { $1 }
        EventMeters.count(.registered, .firstRegistration, times: written.count)
    }

    private func addTaking(to outcomes: inout [Int: RegistrationOutcome], _ rows: PostgresResult) throws {
        let written = try Self.outcomes(of: taking, rows)
        outcomes.merge(written) { $1 }
        EventMeters.count(.superseded, .tokenMoved, times: written.count)
        EventMeters.count(.takenOver, .tokenMoved, times: written.count)
    }

    /// - Parameter rows: of `CreationStatements`.
    private static func outcomes(
        of new: [(index: Int, row: CreatedRow)], _ rows: PostgresResult
    ) throws -> [Int: RegistrationOutcome] {
        let lives = try Dictionary(
            uniqueKeysWithValues: rows.map { row in
                (
                    try row.decode(0, as: String.self),
                    (try row.decode(1, as: Int64.self), Timestamp(try row.decode(2, as: PostgresTimestamp.self)))
                )
            })
        var outcomes: [Int: RegistrationOutcome] = [:]
        for (index, row) in new {
            guard let (generation, createdAt) = lives[row.pending.key.rawValue] else { continue }
            outcomes[index] = RegistrationOutcome(
                status: .created, generation: generation, epoch: generation, state: .active,
                userID: row.pending.registration.owner?.userID, lastSeenAt: createdAt)
        }
        return outcomes
    }

    private func addRebound(to outcomes: inout [Int: RegistrationOutcome], _ rows: PostgresResult) throws {
        let written = try Dictionary(uniqueKeysWithValues: rows.map { (try $0.decode(0, as: String.self), $0) })
        var changes: [(EventKind, TokenEvent.Reason)] = []
        for (index, row) in rebound {
            guard let result = written[row.pending.key.rawValue] else { continue }
            outcomes[index] = RegistrationOutcome(
                status: .updated, generation: try result.decode(1), epoch: try result.decode(2), state: .active,
                userID: row.pending.registration.owner?.userID,
                lastSeenAt: Timestamp(try result.decode(3, as: PostgresTimestamp.self)))
            var reader = ColumnReader(result, from: 4)
            changes.append((try reader.nextLabel(), try reader.nextLabel()))
        }
        EventMeters.count(changes: changes)
    }

    private func addChanged(to outcomes: inout [Int: RegistrationOutcome], _ rows: PostgresResult) throws {
        let times = try Self.lastSeen(rows)
        for (index, row) in changed {
            guard let lastSeenAt = times[row.pending.key.rawValue] else { continue }
            outcomes[index] = RegistrationOutcome(
                status: .updated, generation: row.found.generation, epoch: row.found.epoch, state: .active,
                userID: row.pending.registration.owner?.userID, lastSeenAt: lastSeenAt)
        }
    }

    private func addTouched(to outcomes: inout [Int: RegistrationOutcome], _ rows: PostgresResult) throws {
        let times = try Self.lastSeen(rows)
        for (index, pending, found) in touched {
            guard let lastSeenAt = times[pending.key.rawValue] else { continue }
            outcomes[index] = RegistrationOutcome(
                status: .unchanged, generation: found.generation, epoch: found.epoch, state: .active,
                userID: pending.registration.owner?.userID, lastSeenAt: lastSeenAt)
        }
    }

    private static func lastSeen(_ rows: PostgresResult) throws -> [String: Timestamp] {
        try Dictionary(
            rows.map { row in
                (try row.decode(0, as: String.self), Timestamp(try row.decode(1, as: PostgresTimestamp.self)))
            }, uniquingKeysWith: { first, _ in first })
    }
}

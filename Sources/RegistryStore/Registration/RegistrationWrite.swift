import PostgresClient
import PushRegistry

/// The statements of a transaction after the rules have decided.
struct RegistrationWrite {
    private let app: AppNumber
    private let moment: Moment
    let records: EventRecords
    /// The new holder of each token; nil for none.
    private var holders: [TokenAddress: InstallID?] = [:]
    private var released: [Installation] = []
    private var replaced: [Installation] = []
    private var touched: [Installation] = []
    private var rebound: [BindingRow] = []
    private var resnapped: [BindingRow] = []
    private var inserted: [BindingRow] = []
    /// Installations whose epoch of notifications has ended.
    private var restarted: [InstallID] = []
    private var owners = OwnerChanges()
    private var delta = RollUpDelta()

    /// Lets the rules decide about a batch, writes what they changed, and commits.
    ///
    /// - Parameters:
    ///   - cells: of each registration of the batch.
    ///   - present: the installations as they were locked.
    ///   - held: the holders of the batch's tokens as this transaction has added them.
    static func commit(
        _ batch: [PendingRegistration], cells: [Int64], _ present: [StoredInstallation], _ locked: LockedInstallations,
        holding held: [TokenAddress: InstallID] = [:], at moment: Moment, _ transaction: PostgresTransaction
    ) async throws -> [Result<RegistrationOutcome, any Error>] {
        var locked = locked
        let outcomes = batch.map { pending in
            Result { () throws(RegistrationRefusal) in
                try locked.register(pending.registration)
            }
            .mapError { $0 as any Error }
        }
        let write = RegistrationWrite(batch, cells: cells, present, locked, holding: held, at: moment)
        try await transaction.commit(after: write.statements, recording: write.records, then: write.checks)
        EventMeters.count(locked.events)
        EventMeters.count(locked.topicsEvents)
        return outcomes
    }

    private init(
        _ batch: [PendingRegistration], cells: [Int64], _ present: [StoredInstallation], _ locked: LockedInstallations,
        holding held: [TokenAddress: InstallID], at moment: Moment
    ) {
        app = batch[0].app
        self.moment = moment
        records = EventRecords(locked.events, locked.topicsEvents, in: app, at: moment.position)
        let registered = Dictionary(uniqueKeysWithValues: zip(batch.map(\.registration.key), zip(batch, cells)))
        let stored = Dictionary(uniqueKeysWithValues: present.map { ($0.installation.key, $0) })
        for (before, after) in locked.changed {
            let oldCell = stored[after.key]?.cell
            if let (pending, cell) = registered[after.key], locked.isRewritten(after.key) {
                append(BindingRow(installation: after, pending: pending, cell: cell), replacing: before)
                count(before, in: oldCell, after, in: cell)
            } else if let before, let oldCell {
                append(after, unlike: before)
                count(before, in: oldCell, after, in: oldCell)
            }
            if let before, before.epoch != after.epoch { restarted.append(after.key.installID) }
            moveToken(from: before, to: after)
            owners.add(from: before, to: after)
        }
        for (token, holder) in held {
            if holders[token] == .some(holder) {
                holders[token] = nil
            } else if holders[token] == nil {
                // The registration was refused.
                holders[token] = .some(nil)
            }
        }
        // Rows are locked in the order of their keys.
        inserted.sort { $0.installation.key.installID.rawValue < $1.installation.key.installID.rawValue }
    }

    private mutating func count(_ before: Installation?, in oldCell: Int64?, _ after: Installation, in cell: Int64) {
        if let before, let oldCell { delta.add(before, in: oldCell, step: -1) }
        delta.add(after, in: cell, step: 1)
    }

    private mutating func moveToken(from before: Installation?, to after: Installation) {
        guard before?.address != after.address else { return }
        if let old = before?.address, holders[old] == nil { holders[old] = .some(nil) }
        if let new = after.address { holders[new] = after.key.installID }
    }

    private mutating func append(_ row: BindingRow, replacing before: Installation?) {
        guard let before else { return inserted.append(row) }
        rebound.append(row)
        if row.installation.snapshotDigest != before.snapshotDigest { resnapped.append(row) }
    }

    /// An installation whose snapshot stays.
    private mutating func append(_ after: Installation, unlike before: Installation) {
        if after.address != before.address { released.append(after) }
        if after.probablyReplacedBy != before.probablyReplacedBy { replaced.append(after) }
        if after.lastSeenAt != before.lastSeenAt { touched.append(after) }
    }

    /// All but the events.
    var statements: [PostgresStatement] {
        [
            holders.isEmpty ? nil : moveHolders,
            released.isEmpty
                ? nil : ReleasedRow.layout.statement(RegistrationStatements.release, released, scalars: bindApp),
            touched.isEmpty ? nil : touch,
            resnapped.isEmpty ? nil : keepSnapshots,
            rebound.isEmpty
                ? nil : BindingRow.layout.statement(RegistrationStatements.rebind, rebound, scalars: bindApp),
            resnapped.isEmpty
                ? nil : SnapshotRow.layout.statement(RegistrationStatements.resnap, resnapped, scalars: bindAppAndTime),
            inserted.isEmpty
                ? nil : InsertedRow.layout.statement(RegistrationStatements.insert, inserted, scalars: bindAppAndTime),
            replaced.isEmpty ? nil : markReplaced,
            owners.ended(in: app, at: moment.time),
            owners.begun(in: app),
            delta.statement(in: app),
        ].compactMap(\.self) + EndedEpochs.statements(of: restarted, in: app)
    }

    /// They run after the events are written.
    var checks: [PostgresStatement] {
        guard !inserted.isEmpty else { return [] }
        let ids = inserted.map(\.installation.key.installID.rawValue)
        return [RegistrationStatements.checkOrder(of: ids, in: app, at: moment.time)]
    }
}

// MARK: - Statements

extension RegistrationWrite {
    private func bindApp(_ binds: inout PostgresBinds) {
        binds.bind(app.rawValue)
    }

    private func bindAppAndTime(_ binds: inout PostgresBinds) {
        binds.bind(app.rawValue)
        binds.bind(moment.time.postgres)
    }

    private var moveHolders: PostgresStatement {
        HolderStatements.move(holders.map { ($0, $1) }, in: app)
    }

    private var markReplaced: PostgresStatement {
        PostgresStatement(
            RegistrationStatements.markReplaced, app.rawValue, replaced.map(\.key.installID.rawValue),
            replaced.map { $0.probablyReplacedBy?.rawValue })
    }

    private var touch: PostgresStatement {
        PostgresStatement(
            RegistrationStatements.touchLocked, app.rawValue, touched.map(\.key.installID.rawValue),
            touched.map(\.lastSeenAt.postgres))
    }

    private var keepSnapshots: PostgresStatement {
        PostgresStatement(
            RegistrationStatements.keepSnapshots, app.rawValue, moment.time.postgres,
            resnapped.map(\.installation.key.installID.rawValue))
    }
}

import PostgresClient
import PushRegistry

/// The outcome of a logout of one installation.
struct LogoutOutcome: Sendable {
    let status: Logout.Status
    /// Nil if the caller may not read the record.
    let generation: Int64?
}

/// A logout on its way to the database.
struct PendingLogout: BatchedWrite {
    typealias Outcome = LogoutOutcome

    let logout: Logout

    var app: AppNumber { logout.key.app }
    var key: InstallID { logout.key.installID }
}

/// Writes a batch of logouts of single installations, all of one app, as one transaction (R6, R15).
struct LogoutWriter: Sendable {
    private static let attemptsMax = 20

    let postgres: PostgresClient
    let clock: RegistryClock

    /// - Throws: `PostgresError`: nothing was written.
    func write(
        _ batch: [PendingLogout], _ patience: LockPatience
    ) async throws -> [Result<LogoutOutcome, any Error>] {
        let (app, logouts) = (batch[0].app, batch.map(\.logout))
        return try await postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            let ids = logouts.map(\.key.installID.rawValue)
            let setUp = LockTimeout.statements(patience)
            let results = try await transaction.execute(
                setUp + [
                    PostgresStatement(InstallationStatements.lock, app.rawValue, ids),
                    PostgresStatement(RegistrationStatements.now),
                ])
            let moment = try Moment(results[setUp.count + 1], clock)
            let stored = try results[setUp.count].map { try InstallationColumns.decode($0) }
            let present = Dictionary(uniqueKeysWithValues: stored.map { ($0.installation.key, $0) })
            let decisions = logouts.map { logout in
                Result { () throws(Logout.Refusal) in
                    try logout.decision(on: present[logout.key]?.installation, at: moment.time)
                }
            }
            let accepted = decisions.compactMap { try? $0.get() }
            let write = BindingEnds(accepted, of: present, in: app, at: moment)
            try await transaction.commit(after: write.statements, recording: write.records)
            EventMeters.count(accepted.compactMap(\.event))
            return decisions.map { decision in
                decision.map { LogoutOutcome(status: $0.status, generation: $0.generation) }.mapError { $0 }
            }
        }
    }
}

/// The writes of a transaction that ends bindings: the installations, their owners, the events and the counts.
struct BindingEnds {
    let app: AppNumber
    let moment: Moment
    private var changed: [Installation] = []
    /// Installations that stay as they are, but have a new event.
    private var recorded: [InstallID] = []
    private var events: [TokenEvent] = []
    private var tombstones: [Tombstones.OnInstallation] = []
    private var owners = OwnerChanges()
    private var delta = RollUpDelta()

    init(in app: AppNumber, at moment: Moment) {
        (self.app, self.moment) = (app, moment)
    }

    init(
        _ decisions: [Logout.Decision], of present: [InstallationKey: StoredInstallation], in app: AppNumber,
        at moment: Moment
    ) {
        self.init(in: app, at: moment)
        for decision in decisions {
            if let after = decision.after, let before = present[after.key] { add(before, after) }
            if let event = decision.event {
                events.append(event)
                if decision.after == nil { recorded.append(event.key.installID) }
            }
            tombstones += decision.tombstones
        }
    }

    mutating func add(_ before: StoredInstallation, _ after: Installation, event: TokenEvent? = nil) {
        changed.append(after)
        owners.add(from: before.installation, to: after)
        delta.add(before.installation, in: before.cell, step: -1)
        delta.add(after, in: before.cell, step: 1)
        if let event { events.append(event) }
    }

    var records: EventRecords { EventRecords(events, in: app, at: moment.position) }

    /// All but the events.
    var statements: [PostgresStatement] {
        [
            changed.isEmpty ? nil : InstallationStatements.unbind(changed, in: app),
            recorded.isEmpty ? nil : InstallationStatements.raiseRevision(of: recorded, in: app),
            owners.ended(in: app, at: moment.time),
            delta.statement(in: app),
            tombstones.isEmpty ? nil : GuardStatements.remember(tombstones, in: app, at: moment.time),
        ].compactMap(\.self) + EndedEpochs.statements(of: changed.map(\.key.installID), in: app)
    }
}

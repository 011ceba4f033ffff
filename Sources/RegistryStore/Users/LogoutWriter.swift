import PostgresClient
import PushRegistry

/// The outcome of a logout of one installation.
struct LogoutOutcome: Sendable {
    let status: Logout.Status
    /// Nil if the caller may not read the record.
    let generation: Int64?
}

/// A queued logout.
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
            let setUp = LockTimeoutStatements.of(patience)
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
            let accepted = zip(logouts, decisions).compactMap { logout, decision in
                (try? decision.get()).map { (logout, $0) }
            }
            let write = BindingEnds(accepted, of: present, in: app, at: moment)
            try await transaction.commit(after: write.statements, recording: write.records)
            EventMeters.count(write.events)
            EventMeters.count(write.topicsEvents)
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
    /// Installations that do not change and have a new event or tombstone.
    private var recorded: [InstallID] = []
    private(set) var events: [TokenEvent] = []
    /// The events of choices that end with their owner's binding.
    private(set) var topicsEvents: [TopicsEvent] = []
    private var tombstones: [Tombstones.OnInstallation] = []
    private var owners = OwnerChanges()
    private var delta = RollUpDelta()

    init(in app: AppNumber, at moment: Moment) {
        (self.app, self.moment) = (app, moment)
    }

    init(
        _ decisions: [(Logout, Logout.Decision)], of present: [InstallationKey: StoredInstallation], in app: AppNumber,
        at moment: Moment
    ) {
        self.init(in: app, at: moment)
        for (logout, decision) in decisions {
            if let after = decision.after, let before = present[after.key] {
                add(before, after, decision.event, logout.catalogue)
            } else if decision.event != nil || !decision.tombstones.isEmpty {
                if let event = decision.event { events.append(event) }
                recorded.append(logout.key.installID)
            }
            tombstones += decision.tombstones
        }
    }

    mutating func add(
        _ before: StoredInstallation, _ after: Installation, _ event: TokenEvent?, _ catalogue: TopicCatalogue
    ) {
        changed.append(after)
        owners.add(from: before.installation, to: after)
        delta.add(before.installation, in: before.cell, step: -1)
        delta.add(after, in: before.cell, step: 1)
        guard let event else { return }
        events.append(event)
        let reset = TopicsEvent(event, ending: before.installation.topicChoices, in: catalogue)
        if let reset, after.topicChoices.isEmpty { topicsEvents.append(reset) }
    }

    var records: EventRecords { EventRecords(events, topicsEvents, in: app, at: moment.position) }

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

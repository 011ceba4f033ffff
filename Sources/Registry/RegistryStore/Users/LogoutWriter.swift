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

    /// - Throws: `PostgresError`: nothing was written.
    func write(
        _ batch: [PendingLogout], _ patience: LockPatience
    ) async throws -> [Result<LogoutOutcome, any Error>] {
        let (app, logouts) = (batch[0].app, batch.map(\.logout))
        return try await postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            let ids = logouts.map(\.key.installID.rawValue)
            let results = try await transaction.execute(
                [InstallationStatements.lock(app.rawValue, ids), RegistrationStatements.now()], patience)
            let moment = try Moment(results[1])
            let stored = try results[0].map { try InstallationColumns.decode($0) }
            let present = Dictionary(uniqueKeysWithValues: stored.map { ($0.installation.key, $0) })
            let decisions = logouts.map { logout in
                Result { () throws(Logout.Refusal) in
                    try logout.decision(on: present[logout.key]?.installation, at: moment.time)
                }
            }
            let accepted = zip(logouts, decisions).compactMap { logout, decision in
                (try? decision.get()).map { (logout, $0) }
            }
            let changes = Self.changes(accepted, of: present, in: app, at: moment.time)
            try await transaction.commit(changes, at: moment)
            return decisions.map { decision in
                decision.map { LogoutOutcome(status: $0.status, generation: $0.generation) }.mapError { $0 }
            }
        }
    }

    private static func changes(
        _ decisions: [(Logout, Logout.Decision)], of present: [InstallationKey: StoredInstallation], in app: AppNumber,
        at time: Timestamp
    ) -> ChangeSet {
        var changes = ChangeSet(in: app, at: time)
        for (logout, decision) in decisions {
            changes.remember(decision.tombstones)
            guard let before = present[logout.key] else { continue }
            if let after = decision.after {
                changes.change(before, to: after)
                if let event = decision.event {
                    changes.record(event, ending: before.installation, after, in: logout.catalogue)
                }
            } else if let event = decision.event {
                changes.keep(before)
                changes.record([event])
            }
        }
        return changes
    }
}

import PostgresClient
import PushRegistry

extension Logout: BatchedWrite {
    typealias Outcome = Decision

    var app: AppNumber { key.app }
}

/// Writes a batch of logouts of single installations, all of one app, as one transaction (R6, R15).
struct LogoutWriter: Sendable {
    private static let attemptsMax = 20

    let postgres: PostgresClient

    /// - Throws: `PostgresError`: nothing was written.
    func write(
        _ logouts: [Logout], _ patience: LockPatience
    ) async throws -> [Result<Logout.Decision, any Error>] {
        let app = logouts[0].app
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
            return decisions.map { decision in decision.mapError { $0 } }
        }
    }

    private static func changes(
        _ decisions: [(Logout, Logout.Decision)], of present: [InstallationKey: StoredInstallation], in app: AppNumber,
        at time: Timestamp
    ) -> ChangeSet {
        var changes = ChangeSet(in: app, at: time)
        for (logout, decision) in decisions {
            changes.remember(decision.tombstones)
            guard let before = present[logout.key], decision.after != nil || decision.event != nil else { continue }
            // An event alone also raises the revision: another writer that has read the row without a lock notices.
            let after = decision.after ?? before.installation
            changes.change(before, to: after)
            guard let event = decision.event else { continue }
            changes.record(event, ending: before.installation, after, in: logout.catalogue)
        }
        return changes
    }
}

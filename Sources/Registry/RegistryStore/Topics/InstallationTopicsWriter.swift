import PostgresClient
import PushRegistry

/// A queued change of the choices on an installation.
struct PendingInstallationTopics: BatchedWrite {
    /// The choices after the change.
    typealias Outcome = ResolvedTopics

    let installation: InstallationKey
    let requester: Requester
    let patch: TopicsPatch

    var app: AppNumber { installation.app }
    var key: InstallID { installation.installID }
}

/// Writes a batch of changes on installations, all of one app, as one transaction of two round trips (R15).
struct InstallationTopicsWriter: Sendable {
    private static let attemptsMax = 20

    let postgres: PostgresClient

    /// - Throws: `PostgresError`: nothing was written.
    func write(
        _ batch: [PendingInstallationTopics], _ patience: LockPatience
    ) async throws -> [Result<ResolvedTopics, any Error>] {
        try await postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            try await write(batch, patience, transaction)
        }
    }

    private func write(
        _ batch: [PendingInstallationTopics], _ patience: LockPatience, _ transaction: PostgresTransaction
    ) async throws -> [Result<ResolvedTopics, any Error>] {
        let (app, ids) = (batch[0].app, batch.map(\.key.rawValue))
        let checks = CredentialChecks(
            batch.map { ($0.patch.credential, $0.installation, $0.patch.sessionTombstones) }, in: app)
        let results = try await transaction.execute(
            [
                InstallationStatements.lock(app.rawValue, ids), RegistrationStatements.now(),
                TopicChoiceStatements.ofOwners(app.rawValue, ids),
            ] + checks.statements, patience)
        let moment = try Moment(results[1])
        let refused = try checks.refusals(results[3...], at: moment.time)
        let stored = try results[0].map { try InstallationColumns.decode($0) }
        let present = Dictionary(uniqueKeysWithValues: stored.map { ($0.installation.key, $0) })
        let inherited = try Self.inherited(results[2])
        var changes = ChangeSet(in: app, at: moment.time)
        let outcomes = batch.enumerated().map { index, pending in
            Result { () throws(TopicsPatch.Refusal) in
                if refused.contains(index) { throw .credentialEnded }
                let found = present[pending.installation]
                let outcome = try pending.patch.outcome(
                    on: found?.installation, for: pending.requester,
                    inheriting: inherited[pending.key] ?? TopicChoices(),
                    at: moment.time)
                if let change = outcome.change, let found {
                    changes.change(found, to: change.after)
                    changes.record([], [change.event].compactMap(\.self))
                }
                return ResolvedTopics(outcome.change?.after ?? outcome.present)
            }
            .mapError { $0 as any Error }
        }
        try await transaction.commit(changes, at: moment)
        return outcomes
    }

    private static func inherited(_ rows: PostgresResult) throws -> [InstallID: TopicChoices] {
        try Dictionary(
            rows.map { row in
                (try InstallID(row.decode(0)), TopicChoices(codes: try row.decode(1, as: [Int32]?.self) ?? []))
            }, uniquingKeysWith: { first, _ in first })
    }
}

extension ResolvedTopics {
    fileprivate init(_ installation: Installation) {
        self.init(own: installation.topicChoices, merged: installation.topics)
    }
}

import PostgresClient
import PushRegistry

/// Writes a call about one token as one transaction of three round trips (R15).
struct TypedTokenWriter {
    let change: TypedTokenChange

    private var app: AppNumber { change.key.app }

    /// - Throws: `TypedTokenRefusal`, `PostgresError`: nothing was written.
    func write(_ transaction: PostgresTransaction) async throws -> TypedTokenOutcome {
        let losers = try await TypedTokenStatements.lockHolders(
            of: [change.added].compactMap(\.self), in: app, after: LockTimeoutStatements.of(.alone), transaction)
        let ids = Array(Set([change.key.installID] + losers))
        let checks = CredentialChecks([(change.credential, change.key, change.sessionTombstones)], in: app)
        let results = try await transaction.execute(
            [
                InstallationStatements.lock(app.rawValue, ids.map(\.rawValue)), RegistrationStatements.now(),
                TypedTokenStatements.sets(of: ids, in: app),
            ] + checks.statements)
        let moment = try Moment(results[1])
        guard try checks.refusals(results[3...], at: moment.time).isEmpty else {
            throw TypedTokenRefusal.credentialEnded
        }
        let stored = Dictionary(
            uniqueKeysWithValues: try results[0].map { try InstallationColumns.decode($0) }
                .map { ($0.installation.key, $0) })
        var tokens = try TypedTokenStatements.locked(results[2], in: app, at: moment.time)
        let events = try change.apply(on: stored.mapValues(\.installation), &tokens, at: moment.time)
        var changes = ChangeSet(in: app, at: moment.time)
        for key in tokens.disturbed.sorted() {
            guard let installation = stored[key] else { continue }
            changes.change(installation, to: installation.installation, changingTokens: true)
        }
        changes.write(tokens.changes)
        changes.record(events)
        try await transaction.commit(changes, at: moment)
        return TypedTokenOutcome(
            generation: stored[change.key]?.installation.generation ?? 0, count: tokens.count(on: change.key))
    }
}

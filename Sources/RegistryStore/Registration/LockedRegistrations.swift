import PostgresClient
import PushRegistry

/// Registrations that may concern others (R3, R4, R5, R7), decided by the rules under locks: one transaction of two trips.
struct LockedRegistrations {
    let batch: [PendingRegistration]
    /// Of each registration of the batch.
    let cells: [Int64]
    let clock: RegistryClock
    let patience: LockPatience

    private var app: AppNumber { batch[0].app }

    /// - Throws: `LostRace`, `PostgresError`: nothing was written.
    func write(_ transaction: PostgresTransaction) async throws -> [Result<RegistrationOutcome, any Error>] {
        let guards = RegistrationGuards(batch)
        let locks = LockTimeout.statements(patience) + (guards?.locks ?? [])
        let reads = tokenLocks + [PostgresStatement(RegistrationStatements.now)] + (guards.map { [$0.logouts] } ?? [])
        let results = try await transaction.execute(locks + reads)
        let guardResults = Array(results[..<locks.count].suffix(guards?.locks.count ?? 0))
        let rest = Array(results[locks.count...])
        let signOuts = try guards?.decode(locks: guardResults, logouts: rest[4]) ?? SignOuts()
        let present = try rest[2].map { try InstallationColumns.decode($0) }
        try checkHolders(rest[1], of: present)
        let moment = try Moment(rest[3], clock)
        var locked = LockedInstallations(present.map(\.installation), signOuts: signOuts, now: moment.time)
        let outcomes = batch.map { pending in
            Result { () throws(RegistrationRefusal) in try locked.register(pending.registration) }
                .mapError { $0 as any Error }
        }
        let write = RegistrationWrite(batch, cells: cells, present, locked, at: moment)
        try await transaction.commit(after: write.statements)
        EventMeters.count(locked.events)
        return outcomes
    }

    /// The rows of tokens, then those of installations.
    private var tokenLocks: [PostgresStatement] {
        let registrations = batch.map(\.registration)
        let providers = registrations.map(\.token.provider.rawValue)
        let (digests, ids) = (registrations.map(\.tokenSHA256), registrations.map(\.key.installID.rawValue))
        return [
            PostgresStatement(RegistrationStatements.addHolders, app.rawValue, providers, digests),
            PostgresStatement(RegistrationStatements.lockHolders, app.rawValue, providers, digests, ids),
            PostgresStatement(
                RegistrationStatements.lock, app.rawValue, ids, providers, digests,
                registrations.compactMap(\.snapshot.device.keychainID)),
        ]
    }

    /// Every token that a registration claims or gives up must be locked. An installation that got another token after
    /// its own was read is looked at again.
    private func checkHolders(_ rows: PostgresResult, of present: [StoredInstallation]) throws {
        let locked = Set(
            try rows.map { row in
                guard let provider = Provider(rawValue: try row.decode(0)) else {
                    throw StoreError.failed("unknown provider")
                }
                return TokenAddress(app: app, provider: provider, sha256: try row.decode(1))
            })
        let own = Set(batch.map(\.registration.key))
        let addresses =
            batch.map(\.registration.address)
            + present.map(\.installation).filter { own.contains($0.key) }.compactMap(\.address)
        guard addresses.allSatisfy(locked.contains) else { throw LostRace() }
    }
}

/// The time of a transaction, and its position in the change feed.
struct Moment {
    let time: Timestamp
    let position: Int64

    /// - Parameter rows: what `RegistrationStatements.now` answered.
    init(_ rows: PostgresResult, _ clock: RegistryClock) throws {
        time = clock.now(Timestamp(try rows[0].decode(0, as: PostgresTimestamp.self)))
        position = try rows[0].decode(1)
    }
}

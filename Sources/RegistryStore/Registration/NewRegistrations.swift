import PostgresClient
import PushRegistry

/// Registrations on Citus that create installations with new tokens and replace no other installation: one transaction
/// of three trips. Most of a batch's price there is that of its statements, and these have nothing to lock: the
/// transaction adds the tokens, and each row that it adds is its own until it ends.
///
/// Takeovers, and new installations of a device that has others, are decided under locks instead.
struct NewRegistrations {
    private struct Row {
        /// In the batch.
        let index: Int
        let pending: PendingRegistration
        let cell: Int64

        var keychainID: String? { pending.registration.snapshot.device.keychainID }
    }

    private let app: AppNumber
    private let rows: [Row]
    private let clock: RegistryClock

    /// - Parameter cells: of each registration of the batch.
    init(_ batch: [PendingRegistration], cells: [Int64], clock: RegistryClock) {
        app = batch[0].app
        self.clock = clock
        rows = zip(batch, cells).enumerated().compactMap { index, item in
            guard case .absent = item.0.finding else { return nil }
            return Row(index: index, pending: item.0, cell: item.1)
        }
    }

    /// - Returns: results by their index in the batch. Registrations without one must be decided under locks.
    /// - Throws: `LostRace` if one of the tokens has a row already, `PostgresError`: nothing was written.
    func write(_ postgres: PostgresClient) async throws -> [Int: Result<RegistrationOutcome, any Error>] {
        guard !rows.isEmpty else { return [:] }
        return try await postgres.withTransaction(.readCommitted) { transaction in
            let guards = RegistrationGuards(rows.map(\.pending))
            let keychainIDs = rows.compactMap(\.keychainID)
            let found = try await transaction.execute(
                (keychainIDs.isEmpty ? [] : [knownKeychain(among: keychainIDs)])
                    + (guards.map { [$0.addUsers] } ?? []))
            let isKeychainKnown = !keychainIDs.isEmpty && !found[0].isEmpty
            let known = isKeychainKnown ? try await knownKeychains(among: keychainIDs, transaction) : []
            let usersAreNew = guards?.areUsersNew(found[found.count - 1]) ?? true
            let alone = rows.filter { row in row.keychainID.map { !known.contains($0) } ?? true }
            return alone.isEmpty ? [:] : try await write(alone, usersAreNew: usersAreNew, transaction)
        }
    }

    private func knownKeychain(among keychainIDs: [String]) -> PostgresStatement {
        PostgresStatement(RegistrationStatements.knownKeychain, app.rawValue, keychainIDs)
    }

    private func knownKeychains(
        among keychainIDs: [String], _ transaction: PostgresTransaction
    ) async throws -> Set<String> {
        let rows = try await transaction.execute(
            [PostgresStatement(RegistrationStatements.knownKeychains, app.rawValue, keychainIDs)])[0]
        return try Set(rows.map { try $0.decode(0, as: String.self) })
    }

    private func write(
        _ rows: [Row], usersAreNew: Bool, _ transaction: PostgresTransaction
    ) async throws -> [Int: Result<RegistrationOutcome, any Error>] {
        let batch = rows.map(\.pending)
        let guards = RegistrationGuards(batch)
        let locks = guards?.locksOfAdded(usersAreNew: usersAreNew) ?? []
        let holders = Dictionary(
            batch.map { ($0.registration.address, $0.key) }, uniquingKeysWith: { $1 })
        let results = try await transaction.execute(
            locks + [HolderStatements.add(holders, in: app), PostgresStatement(RegistrationStatements.now)]
                + (guards.map { [$0.logouts] } ?? []))
        guard results[locks.count].affectedRows == holders.count else { throw LostRace() }
        let guardRows = Array(results[..<locks.count])
        let tombstones =
            try guards?.decode(locks: guardRows, usersAreNew: usersAreNew, logouts: results[locks.count + 2])
            ?? Tombstones()
        let moment = try Moment(results[locks.count + 1], clock)
        let locked = LockedInstallations(
            [], tombstones: tombstones,
            userChoices: try guards?.userChoices(locks: guardRows, usersAreNew: usersAreNew) ?? [:], now: moment.time)
        var (changes, outcomes) = ChangeSet.registering(
            batch, cells: rows.map(\.cell), locked, [], at: moment.time)
        changes.hold(holders)
        try await transaction.commit(changes, at: moment.position)
        return Dictionary(uniqueKeysWithValues: zip(rows.map(\.index), outcomes))
    }
}

import PostgresClient
import PushRegistry

/// Registrations that may concern others (R3, R4, R5, R7), decided by the rules under locks: one transaction of two
/// trips.
struct LockedRegistrations {
    let batch: [PendingRegistration]
    /// Of each registration of the batch.
    let cells: [Int64]
    let clock: RegistryClock
    let patience: LockPatience
    /// Those that may move a token (R3, R4) or replace another installation (R5).
    let movers: [PendingRegistration]
    /// Those of `movers` whose tokens may have no row in `token_holder` yet.
    private let adders: [PendingRegistration]

    /// - Parameter isFirstAttempt: whether to trust the look-up about the rows and the holders of the registrations'
    ///   tokens. The next attempt does not trust it.
    init(
        _ batch: [PendingRegistration], cells: [Int64], clock: RegistryClock, patience: LockPatience,
        isFirstAttempt: Bool
    ) {
        (self.batch, self.cells, self.clock, self.patience) = (batch, cells, clock, patience)
        movers = batch.filter { $0.finding.holdsToken ? !isFirstAttempt : true }
        adders = movers.filter { if case .claimed = $0.finding { !isFirstAttempt } else { true } }
    }

    private var app: AppNumber { batch[0].app }

    /// - Throws: `LostRace`, `PostgresError`: nothing was written.
    func write(_ transaction: PostgresTransaction) async throws -> [Result<RegistrationOutcome, any Error>] {
        let guards = RegistrationGuards(batch)
        let locks = LockTimeoutStatements.of(patience) + (guards?.locks ?? [])
        let tokens = tokenLocks
        let reads =
            [installationLock, PostgresStatement(RegistrationStatements.now)] + (guards.map { [$0.logouts] } ?? [])
        let results = try await transaction.execute(locks + tokens + reads)
        let guardResults = Array(results[..<locks.count].suffix(guards.map { $0.locks.count - 1 } ?? 0))
        let rest = Array(results[(locks.count + tokens.count)...])
        let tombstones =
            try guards?.decode(locks: guardResults, usersAreNew: false, logouts: rest[2]) ?? Tombstones()
        let present = try rest[0].map { try InstallationColumns.decode($0) }
        try checkHolders(tokens.isEmpty ? nil : results[locks.count + tokens.count - 1], of: present)
        let moment = try Moment(rest[1], clock)
        let locked = LockedInstallations(
            present.map(\.installation), tombstones: tombstones,
            userChoices: try await userChoices(
                try guards?.userChoices(locks: guardResults, usersAreNew: false) ?? [:], present, transaction),
            now: moment.time)
        let (changes, outcomes) = ChangeSet.registering(batch, cells: cells, locked, present, at: moment.time)
        try await transaction.commit(changes, at: moment.position)
        return outcomes
    }

    /// The choices of all users that matter. An installation that loses its token loses its own choices, and then
    /// inherits those of its owner, who may be another user than those of the batch.
    private func userChoices(
        _ known: [UserID: TopicChoices], _ present: [StoredInstallation], _ transaction: PostgresTransaction
    ) async throws -> [UserID: TopicChoices] {
        let owners = Set(
            present.lazy.map(\.installation).filter { !$0.topicChoices.isEmpty }.compactMap(\.owner?.userID)
        ).filter { known[$0] == nil }
        guard !owners.isEmpty else { return known }
        let found = try await TopicChoiceStatements.choices(of: Array(owners), in: app, transaction)
        return known.merging(found) { $1 }
    }

    private var tokenLocks: [PostgresStatement] {
        guard !movers.isEmpty else { return [] }
        let all = columns(of: movers)
        let lock = PostgresStatement(
            RegistrationStatements.lockHolders, app.rawValue, all.providers, all.digests, movers.map(\.key.rawValue))
        guard !adders.isEmpty else { return [lock] }
        let new = adders.count == movers.count ? all : columns(of: adders)
        return [PostgresStatement(RegistrationStatements.addHolders, app.rawValue, new.providers, new.digests), lock]
    }

    /// The registrations' tokens. Rows are locked in the order of their keys.
    private func columns(of registrations: [PendingRegistration]) -> (providers: [String], digests: [[UInt8]]) {
        let tokens = TokenAddress.inLockOrder(registrations.map(\.registration.address))
        return (tokens.map(\.provider.rawValue), tokens.map(\.sha256))
    }

    private var installationLock: PostgresStatement {
        let ids = batch.map(\.key.rawValue)
        guard !movers.isEmpty else { return PostgresStatement(InstallationStatements.lock, app.rawValue, ids) }
        let registrations = movers.map(\.registration)
        return PostgresStatement(
            RegistrationStatements.lock, app.rawValue, ids, registrations.map(\.token.provider.rawValue),
            registrations.map(\.tokenSHA256), registrations.compactMap(\.snapshot.device.keychainID))
    }

    /// Every token that a registration claims or releases must be locked. An installation whose token has moved after
    /// it was read is read again.
    ///
    /// - Parameter rows: the tokens that are locked.
    private func checkHolders(_ rows: PostgresResult?, of present: [StoredInstallation]) throws {
        var locked = Set<TokenAddress>()
        for row in rows.map(Array.init) ?? [] {
            guard let provider = Provider(rawValue: try row.decode(0)) else {
                throw StoreError.failed("unknown provider")
            }
            locked.insert(TokenAddress(app: app, provider: provider, sha256: try row.decode(1)))
        }
        let addresses = Dictionary(
            uniqueKeysWithValues: present.map { ($0.installation.key, $0.installation.address) })
        for registration in batch.lazy.map(\.registration) {
            let (claimed, held) = (registration.address, addresses[registration.key] ?? nil)
            let isLocked = locked.contains(claimed) && (held.map { locked.contains($0) } ?? true)
            guard isLocked || held == claimed else { throw LostRace() }
        }
    }
}

extension ChangeSet {
    /// Lets the rules decide about a batch.
    ///
    /// - Parameters:
    ///   - cells: of each registration of the batch.
    ///   - present: the installations as they were locked.
    static func registering(
        _ batch: [PendingRegistration], cells: [Int64], _ locked: LockedInstallations, _ present: [StoredInstallation],
        at time: Timestamp
    ) -> (ChangeSet, outcomes: [Result<RegistrationOutcome, any Error>]) {
        var locked = locked
        let outcomes = batch.map { pending in
            Result { () throws(RegistrationRefusal) in
                try locked.register(pending.registration)
            }
            .mapError { $0 as any Error }
        }
        let registered = Dictionary(uniqueKeysWithValues: zip(batch.map(\.registration.key), zip(batch, cells)))
        let stored = Dictionary(uniqueKeysWithValues: present.map { ($0.installation.key, $0) })
        var changes = ChangeSet(in: batch[0].app, at: time)
        for (_, after) in locked.changed {
            let before = stored[after.key]
            if let (pending, cell) = registered[after.key], locked.isRewritten(after.key) {
                changes.register(before, as: after, by: pending, in: cell)
            } else if let before {
                changes.change(before, to: after)
            }
        }
        changes.record(locked.events, locked.topicsEvents)
        return (changes, outcomes)
    }
}

/// The time of a transaction, and its position in the change feed.
struct Moment {
    let time: Timestamp
    let position: Int64

    /// - Parameter rows: of `RegistrationStatements.now`.
    init(_ rows: PostgresResult, _ clock: RegistryClock) throws {
        time = clock.now(Timestamp(try rows[0].decode(0, as: PostgresTimestamp.self)))
        position = try rows[0].decode(1)
    }
}

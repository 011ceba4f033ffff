import PostgresClient
import PushRegistry

/// Registrations that may concern others (R3, R4, R5, R7), decided by the rules under locks: one transaction of two
/// trips, or of three if a registration brings typed tokens.
struct LockedRegistrations {
    let batch: [PendingRegistration]
    /// Of each registration of the batch.
    let cells: [Int64]
    let patience: LockPatience
    /// Those whose new tokens are added together with their holders, because neither the installation nor the token was
    /// found.
    private let creators: [PendingRegistration]
    /// The others that may move a token (R3, R4) or replace another installation (R5).
    private let movers: [PendingRegistration]
    /// Those of `movers` whose tokens may have no row in `token_holder` yet.
    private let adders: [PendingRegistration]

    /// - Parameter isFirstAttempt: lock only tokens that were found moving. After a lost race, all are locked.
    init(
        _ batch: [PendingRegistration], cells: [Int64], patience: LockPatience, isFirstAttempt: Bool
    ) {
        (self.batch, self.cells, self.patience) = (batch, cells, patience)
        creators = isFirstAttempt ? batch.filter { if case .absent = $0.finding { true } else { false } } : []
        guard isFirstAttempt else {
            (movers, adders) = (batch, batch)
            return
        }
        movers = batch.filter {
            switch $0.finding {
            case .claimed, .other: true
            case .absent, .bound, .holder: false
            }
        }
        adders = movers.filter { if case .claimed = $0.finding { false } else { true } }
    }

    private var app: AppNumber { batch[0].app }

    /// - Throws: `LostRace`, `PostgresError`: nothing was written.
    func write(_ transaction: PostgresTransaction) async throws -> [Result<RegistrationOutcome, any Error>] {
        let guards = RegistrationGuards(batch)
        let added = Dictionary(creators.map { ($0.registration.address, $0.key) }, uniquingKeysWith: { $1 })
        var first = LockTimeoutStatements.of(patience)
        let crowd = try await lockUsers(guards, after: &first, transaction)
        let (sets, losers) = try await lockTypedTokens(after: &first, transaction)
        let tokens = tokenLocks(adding: added, and: crowd.candidates)
        let installations = installationLocks(and: losers + crowd.candidates)
        let reads = [RegistrationStatements.now()] + sets + (guards?.reads ?? [])
        let results = try await transaction.execute(first + tokens + installations + reads)
        var rest = results.dropFirst(first.count)
        let locked = try lockedTokens(
            rest.prefix(tokens.count), adding: added, areRead: !movers.isEmpty || !crowd.candidates.isEmpty)
        rest = rest.dropFirst(tokens.count)
        let present = try rest.prefix(installations.count).joined().map { try InstallationColumns.decode($0) }
        try checkHolders(locked, of: present)
        let others = try crowd.limits?.others(than: present, crowd.candidates, locked) ?? [:]
        rest = rest.dropFirst(installations.count)
        let moment = try Moment(rest.removeFirst())
        let typed = sets.isEmpty ? nil : try TypedTokenStatements.locked(rest.removeFirst(), in: app, at: moment.time)
        let (tombstones, choices) = try guards?.decode(rest) ?? (Tombstones(), [:])
        let loaded = LockedInstallations(
            present.map(\.installation), tombstones: tombstones,
            userChoices: try await userChoices(choices, present, transaction), others: others, tokens: typed,
            now: moment.time, number: moment.number)
        var (changes, outcomes) = ChangeSet.registering(batch, cells: cells, loaded, present, at: moment.time)
        changes.hold(added)
        try await transaction.commit(changes, at: moment)
        return outcomes
    }

    /// Locks the buckets of users and sessions (R7). If the policy limits the installations of users, also finds those
    /// that the batch may supersede.
    ///
    /// - Parameter first: sent before, and emptied, or to be sent next with the locks.
    private func lockUsers(
        _ guards: RegistrationGuards?, after first: inout [PostgresStatement], _ transaction: PostgresTransaction
    ) async throws -> (limits: UserLimits?, candidates: [InstallID]) {
        guard var limits = UserLimits(batch) else {
            first += guards.map { [$0.lock] } ?? []
            return (nil, [])
        }
        let candidates = try await limits.lock(with: guards, after: first, transaction)
        first = []
        return (limits, candidates)
    }

    /// If a registration brings typed tokens, locks their buckets.
    ///
    /// - Parameter first: sent then, and emptied.
    /// - Returns: the statement that reads the sets, if one is needed, and the installations that may lose tokens.
    private func lockTypedTokens(
        after first: inout [PostgresStatement], _ transaction: PostgresTransaction
    ) async throws -> (sets: [PostgresStatement], losers: [InstallID]) {
        let bearers = batch.filter { $0.registration.tokens != nil }
        guard !bearers.isEmpty else { return ([], []) }
        let tokens = bearers.lazy.compactMap(\.registration.tokens).joined().map(\.address)
        let losers = try await TypedTokenStatements.lockHolders(of: tokens, in: app, after: first, transaction)
        first = []
        return ([TypedTokenStatements.sets(of: Array(Set(bearers.map(\.key) + losers)), in: app)], losers)
    }

    /// The choices of all users that matter. An installation that loses its token loses its own choices, and then
    /// inherits those of its owner, who may be another user than those of the batch. One that keeps its owner by a
    /// delivery key inherits the owner's choices, too.
    private func userChoices(
        _ known: [UserID: TopicChoices], _ present: [StoredInstallation], _ transaction: PostgresTransaction
    ) async throws -> [UserID: TopicChoices] {
        let keepers = Set(batch.lazy.map(\.registration).filter(\.claim.keepsOwner).map(\.key))
        let owners = Set(
            present.lazy.map(\.installation).filter { !$0.topicChoices.isEmpty || keepers.contains($0.key) }
                .compactMap(\.owner?.userID)
        ).filter { known[$0] == nil }
        guard !owners.isEmpty else { return known }
        let users = Dictionary(uniqueKeysWithValues: owners.map { (UserDigest.sha256($0), $0) })
        let rows = try await transaction.execute([GuardStatements.users(app.rawValue, Array(users.keys))])[0]
        return try rows.map(RememberedUser.init).reduce(into: known) { known, user in
            if let id = users[user.sha256] { known[id] = user.choices }
        }
    }

    /// - Parameters:
    ///   - added: the holders of new tokens.
    ///   - candidates: others that may lose their tokens.
    private func tokenLocks(
        adding added: [TokenAddress: InstallID], and candidates: [InstallID]
    ) -> [PostgresStatement] {
        let added = added.isEmpty ? [] : [HolderStatements.add(added.keys, heldBy: added, in: app)]
        guard !movers.isEmpty || !candidates.isEmpty else { return added }
        let new = adders.isEmpty ? [] : [HolderStatements.add(adders.map(\.registration.address), in: app)]
        return added + new
            + [
                HolderStatements.lock(
                    movers.map(\.registration.address), of: movers.map(\.key) + candidates, in: app)
            ]
    }

    /// None if the batch only creates installations of devices without a keychain id: nobody else sees their rows.
    ///
    /// - Parameter losers: others that may lose tokens.
    private func installationLocks(and losers: [InstallID]) -> [PostgresStatement] {
        let isFound = { (pending: PendingRegistration) in if case .absent = pending.finding { false } else { true } }
        var ids = (creators.isEmpty ? batch : batch.filter(isFound)).map(\.key.rawValue)
        if !losers.isEmpty { ids = Array(Set(ids + losers.map(\.rawValue))) }
        let keychainIDs = (creators + movers).compactMap(\.registration.snapshot.device.keychainID)
        guard !movers.isEmpty || !keychainIDs.isEmpty else {
            return ids.isEmpty ? [] : [InstallationStatements.lock(app.rawValue, ids)]
        }
        let registrations = movers.map(\.registration)
        return [
            RegistrationStatements.lock(
                app.rawValue, ids, registrations.map(\.token.provider.rawValue), registrations.map(\.tokenSHA256),
                keychainIDs)
        ]
    }

    /// - Parameters:
    ///   - results: of `tokenLocks`.
    ///   - areRead: whether the last one reads locked tokens.
    /// - Throws: `LostRace` if one of the tokens of `creators` has a row already.
    private func lockedTokens(
        _ results: some Collection<PostgresResult>, adding added: [TokenAddress: InstallID], areRead: Bool
    ) throws -> Set<TokenAddress> {
        var locked = Set(added.keys)
        if !added.isEmpty, results.first?.affectedRows != added.count { throw LostRace() }
        guard areRead, let rows = results.reversed().first else { return locked }
        locked.formUnion(try HolderStatements.holders(rows, in: app).keys)
        return locked
    }

    /// A registration claims the token that its installation holds, or one whose holder is locked too. It releases a
    /// token that is locked. An installation whose token has moved after it was read is read again.
    private func checkHolders(_ locked: Set<TokenAddress>, of present: [StoredInstallation]) throws {
        let addresses = Dictionary(
            uniqueKeysWithValues: present.map { ($0.installation.key, $0.installation.address) })
        // Other tokens are locked because one of `movers` held them; their holders are not read.
        let claimable = Set((creators + movers).map(\.registration.address)).intersection(locked)
        for registration in batch.lazy.map(\.registration) {
            let (claimed, held) = (registration.address, addresses[registration.key] ?? nil)
            let isLocked = claimable.contains(claimed) && (held.map { locked.contains($0) } ?? true)
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
                changes.register(
                    before, as: after, by: pending, in: cell,
                    storing: locked.tokens.stored(pending.digest, of: pending.registration))
            } else if let before {
                changes.change(before, to: after, changingTokens: locked.tokens.disturbed.contains(after.key))
            }
        }
        changes.write(locked.tokens.changes)
        changes.record(locked.events, locked.topicsEvents)
        return (changes, outcomes)
    }
}

/// The time of a transaction, its position in the change feed, and its number, which orders it among the transactions
/// whose locks it has waited for.
package struct Moment: Sendable {
    package let time: Timestamp
    package let position: Int64
    package let number: Int64
    /// The ids of the events that it writes are the first ones of these.
    package let eventIDs: ClosedRange<Int64>

    /// The increment of the sequence of ids.
    private static let eventsMax: Int64 = 32_768

    /// - Parameter rows: of `RegistrationStatements.now`.
    package init(_ rows: PostgresResult) throws {
        time = try rows[0].decode(0, as: Timestamp.self)
        (position, number) = (try rows[0].decode(1), try rows[0].decode(2))
        let first: Int64 = try rows[0].decode(3)
        eventIDs = first...first + Self.eventsMax - 1
    }
}

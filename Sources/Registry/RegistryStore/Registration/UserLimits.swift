import PostgresClient
import PushRegistry

/// The users whose active installations the policy's `installationsPerUser` limits, and who may get more of them by a
/// batch.
///
/// Registrations of these users lock their buckets exclusively, so that no other registration makes one of their
/// installations active. Then the store reads which are active, and locks those that have not been seen for the
/// longest. The rules decide (`LockedInstallations`).
struct UserLimits {
    /// The most installations of a user that one transaction supersedes: a policy may have got the limit when users had
    /// any number of installations.
    private static let excessMax = 1_000

    private let app: AppNumber
    /// Of each user: the least limit of the batch, and the number of registrations.
    private var users: [UserID: (max: Int, count: Int)] = [:]
    /// Registrations that keep the present owner, whom only the row knows, with their limit.
    private var keepers: [InstallID: Int] = [:]
    private var owners: [InstallID: UserID] = [:]
    private var lastSeen: [InstallID: Timestamp] = [:]
    private var active: [UserID: Set<InstallID>] = [:]

    /// Nil without a limit.
    init?(_ batch: [PendingRegistration]) {
        guard batch.contains(where: { $0.registration.installationsMax != nil }) else { return nil }
        app = batch[0].app
        for registration in batch.lazy.map(\.registration) {
            guard let max = registration.installationsMax else { continue }
            if let owner = registration.owner { add(owner.userID, max) }
            if registration.claim.keepsOwner { keepers[registration.key.installID] = max }
        }
    }

    private mutating func add(_ user: UserID, _ max: Int) {
        let known = users[user] ?? (max, 0)
        users[user] = (Swift.min(known.max, max), known.count + 1)
    }

    /// Locks the buckets, and finds the installations to lock.
    ///
    /// - Parameters:
    ///   - guards: of the same batch.
    ///   - first: sent before.
    /// - Returns: the installations that the batch may supersede.
    mutating func lock(
        with guards: RegistrationGuards?, after first: [PostgresStatement], _ transaction: PostgresTransaction
    ) async throws -> [InstallID] {
        if !keepers.isEmpty {
            let read = UserLimitStatements.owners(app.rawValue, keepers.keys.map(\.rawValue))
            for row in try await transaction.execute([read])[0] {
                let (id, user) = (try InstallID(row.decode(0)), try UserID(row.decode(1)))
                owners[id] = user
                if let max = keepers[id] { add(user, max) }
            }
        }
        let digests = users.keys.map(UserDigest.sha256) + (guards.map { Array($0.users.keys) } ?? [])
        let buckets = LockBuckets(users: digests, sessions: guards?.sessions ?? [], in: app).exclusive
        let found = Array(users)
        let read = UserLimitStatements.active(
            app.rawValue, found.map(\.key.rawValue),
            found.map { Int64($0.value.max + Self.excessMax) })
        let rows = try await transaction.execute(first + [buckets, read])[first.count + 1]
        var oldest: [UserID: [InstallID]] = [:]
        for row in rows {
            let (user, id) = (try UserID(row.decode(0)), try InstallID(row.decode(1)))
            oldest[user, default: []].append(id)
            lastSeen[id] = try row.decode(2, as: Timestamp.self)
        }
        active = oldest.mapValues { Set($0) }
        return users.flatMap { user, limit in
            let ids = oldest[user] ?? []
            return ids.prefix(min(max(0, ids.count + limit.count - limit.max), Self.excessMax))
        }
    }

    /// How many active installations each user has beside those that were locked.
    ///
    /// - Parameters:
    ///   - present: all locked installations.
    ///   - candidates: of `lock`.
    ///   - tokens: the locked ones.
    /// - Throws: `LostRace` if another transaction has changed what decides.
    func others(
        than present: [StoredInstallation], _ candidates: [InstallID], _ tokens: Set<TokenAddress>
    ) throws -> [UserID: Int] {
        let candidates = Set(candidates)
        for installation in present.lazy.map(\.installation) {
            let id = installation.key.installID
            if keepers[id] != nil, owners[id] != installation.owner?.userID { throw LostRace() }
            guard candidates.contains(id) else { continue }
            // It was seen meanwhile, or rotated its token.
            if installation.lastSeenAt != lastSeen[id] { throw LostRace() }
            if let address = installation.address, !tokens.contains(address) { throw LostRace() }
        }
        let locked = Set(present.map(\.installation.key.installID))
        return users.reduce(into: [:]) { $0[$1.key] = (active[$1.key] ?? []).subtracting(locked).count }
    }
}

/// The SQL of `UserLimits`. `$1` is the app.
enum UserLimitStatements {
    /// PUT …/installations/{installId}: reads the owners of the installations `$2`.
    static let owners = PreparedSQL(
        """
        SELECT install_id, user_id FROM installation
        WHERE app_id = $1 AND install_id = ANY ($2) AND user_id IS NOT NULL
        """)

    /// PUT …/installations/{installId}: reads the active installations of the users `$2`, of each up to `$3`, those
    /// first that have not been seen for the longest.
    static let active = PreparedSQL(
        """
        SELECT k.user_id, i.install_id, i.last_seen_at
        FROM unnest($2::text[], $3::bigint[]) AS k (user_id, count)
        CROSS JOIN LATERAL (
            SELECT i.install_id, i.last_seen_at
            FROM installation_owner o
            JOIN installation i ON i.app_id = $1 AND i.install_id = o.install_id
            WHERE o.app_id = $1 AND o.user_id = k.user_id AND o.left_at IS NULL
                AND i.user_id = k.user_id AND i.state = 'active'
            ORDER BY i.last_seen_at, i.install_id LIMIT k.count) AS i
        ORDER BY k.user_id, i.last_seen_at, i.install_id
        """)
}

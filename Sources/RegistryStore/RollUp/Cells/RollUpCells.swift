import Locking
import PostgresClient
import PushRegistry

/// The numbers of cells (`rollup_cell`), cached. A missing cell is created in a separate transaction, before the one
/// that uses it. Cells are never deleted, so a number stays valid in its database: after a failover that lost the
/// newest transactions, and after a restored dump, another cell may have it.
final class RollUpCells: Sendable {
    /// Cells in the cache. A fleet of ten million has some 260,000.
    static let cachedMax = 300_000
    /// Texts in the cache, of all apps. A fleet of ten million has some 3,000.
    static let textsCachedMax = 100_000
    /// Cells of one app. Clients choose locales, zones and versions freely; the combinations beyond this limit are
    /// counted in one overflow cell for each provider and authorization.
    static let cellsOfAppMax: Int64 = 1_000_000

    /// The values by which the roll-up groups installations.
    struct Key: Hashable, Sendable {
        let app: AppNumber
        let provider: Provider
        let authorization: AuthorizationStatus
        let isAssumed: Bool
        let locale: String
        let zone: String
        /// The offset that was sent. It counts if the zone is unknown.
        let offset: Int32
        let systemName: String
        let systemVersion: String

        init(_ registration: Registration) {
            self.init(registration.key.app, registration.token.provider, registration.snapshot)
        }

        init(_ app: AppNumber, _ provider: Provider, _ snapshot: Snapshot) {
            let device = snapshot.device
            (self.app, self.provider) = (app, provider)
            authorization = snapshot.settings.authorizationStatus
            isAssumed = snapshot.settings.authorizationAssumed
            (locale, zone, offset) = (device.locale.text, device.timeZoneID, device.timeZoneOffset)
            (systemName, systemVersion) = (device.systemName, device.systemVersion)
        }
    }

    /// After this many new cells of an app, all of its cells are counted again, because other services create cells
    /// too.
    private static let recountAfter = 10_000

    /// A number is used at most this long after the database was seen to be the same. No failover takes less.
    static let checkInterval = Duration.milliseconds(250)

    private struct Cache {
        /// Of `DatabaseIdentityStatements`; nil before the first cell.
        var identity: String?
        var checkedAt = ContinuousClock.now
        var numbers: [Key: Int64] = [:]
        var texts: [AppNumber: RollUpTexts] = [:]
        /// How many cells an app has, and how many were created since they were counted.
        var counts: [AppNumber: (counted: Int64, created: Int)] = [:]

        /// Forgets what belongs to another database.
        mutating func check(_ identity: String, at time: ContinuousClock.Instant) {
            if identity != self.identity {
                self = Cache()
                self.identity = identity
            }
            checkedAt = time
        }
    }

    private let cache = Locked(Cache())

    private let checkInterval: Duration

    init(checkInterval: Duration = RollUpCells.checkInterval) {
        self.checkInterval = checkInterval
    }

    /// The numbers of these registrations' cells, of one app.
    ///
    /// - Throws: `PostgresError`.
    func numbers(
        of registrations: [Registration], _ postgres: PostgresClient, _ patience: LockPatience
    ) async throws -> [Int64] {
        let keys = registrations.map(Key.init)
        try await check(postgres)
        let known = cached(keys)
        let missing = Array(Set(zip(keys, known).filter { $1 == nil }.map(\.0)))
        guard !missing.isEmpty else { return known.compactMap(\.self) }
        let created = try await create(missing, postgres, patience)
        return try zip(keys, known).map { key, number in
            guard let number = number ?? created[key] else { throw StoreError.failed("a cell was not created") }
            return number
        }
    }

    private func check(_ postgres: PostgresClient) async throws {
        let now = ContinuousClock.now
        guard cache.withLock({ $0.identity != nil && now - $0.checkedAt >= checkInterval }) else { return }
        let result = try await postgres.execute(PostgresStatement(DatabaseIdentityStatements.identity))
        let identity: String = try result[0].decode(0)
        cache.withLock { $0.check(identity, at: now) }
    }

    private func cached(_ keys: [Key]) -> [Int64?] {
        cache.withLock { cache in keys.map { cache.numbers[$0] } }
    }

    private func create(
        _ keys: [Key], _ postgres: PostgresClient, _ patience: LockPatience
    ) async throws -> [Key: Int64] {
        let app = keys[0].app
        let count = try await count(of: app, postgres)
        let identity = cache.withLock { $0.identity }
        var creation = RollUpCellCreation(
            keys, count: count, texts: cache.withLock { $0.texts[app] } ?? RollUpTexts(),
            drawsNumbers: postgres.isDistributed)
        try await creation.run(on: postgres, patience)
        let created = Dictionary(uniqueKeysWithValues: zip(keys, creation.numbers))
        cache.withLock { cache in
            guard cache.identity == identity else { return }
            cache.texts[app, default: RollUpTexts()].merge(creation.texts)
            if cache.texts.values.reduce(0, { $0 + $1.count }) > Self.textsCachedMax { cache.texts.removeAll() }
            if cache.numbers.count + created.count > Self.cachedMax { cache.numbers.removeAll(keepingCapacity: true) }
            cache.numbers.merge(created) { $1 }
            cache.counts[app]?.created += created.count
        }
        return created
    }

    private func count(of app: AppNumber, _ postgres: PostgresClient) async throws -> Int64 {
        if let known = cache.withLock({ $0.counts[app] }), known.created < Self.recountAfter {
            return known.counted + Int64(known.created)
        }
        let now = ContinuousClock.now
        let results = try await postgres.execute([
            PostgresStatement(DatabaseIdentityStatements.identity), RollUpCellStatements.count(of: app),
        ])
        let identity: String = try results[0][0].decode(0)
        let counted: Int64 = try results[1][0].decode(0)
        cache.withLock { cache in
            cache.check(identity, at: now)
            cache.counts[app] = (counted, 0)
        }
        return counted
    }
}

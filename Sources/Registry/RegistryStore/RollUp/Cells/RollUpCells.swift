import Basics
import PostgresClient
import PushRegistry

/// The numbers of cells (`rollup_cell`), cached. A missing cell is created in a separate transaction, before the one
/// that uses it. A number stays valid in its database until the night job has deleted the cell, which it announces
/// (`UnusedCells`). After a failover that lost the newest transactions, and after a restored dump, another cell may
/// have it.
package final class RollUpCells: Sendable {
    /// Cells in the cache. A fleet of ten million has some 260,000.
    package static let cachedMax = 300_000
    /// Texts in the cache, of all apps. A fleet of ten million has some 3,000.
    static let textsCachedMax = 100_000

    /// The values by which the roll-up groups installations.
    package struct Key: Hashable, Sendable {
        let app: AppNumber
        let provider: Provider
        let authorization: AuthorizationStatus
        let isAssumed: Bool
        let locale: ExactText
        let zone: ExactText
        /// The offset that was sent. It counts if the zone is unknown.
        let offset: Int32
        let systemName: ExactText
        let systemVersion: ExactText

        init(
            app: AppNumber, provider: Provider, settings: NotificationSettings, locale: String, zone: String,
            offset: Int32, systemName: String, systemVersion: String
        ) {
            (self.app, self.provider) = (app, provider)
            (authorization, isAssumed) = (settings.authorizationStatus, settings.authorizationAssumed)
            (self.locale, self.zone, self.offset) = (ExactText(locale), ExactText(zone), offset)
            (self.systemName, self.systemVersion) = (ExactText(systemName), ExactText(systemVersion))
        }

        package init(_ registration: Registration) {
            self.init(registration.key.app, registration.token.provider, registration.snapshot)
        }

        package init(_ app: AppNumber, _ provider: Provider, _ snapshot: Snapshot) {
            let device = snapshot.device
            self.init(
                app: app, provider: provider, settings: snapshot.settings, locale: device.locale.text,
                zone: device.timeZoneID, offset: device.timeZoneOffset, systemName: device.systemName,
                systemVersion: device.systemVersion)
        }
    }

    /// After this many new cells of an app, its cells are counted again, because other services create cells too.
    private static let recountAfter: Int64 = 1_000
    /// While an app is at a limit, its cells are counted again after this time.
    private static let recountInterval = Duration.seconds(60)

    /// A number is used at most this long after the database was seen to be the same. No failover takes less.
    static let checkInterval = Duration.milliseconds(250)

    private struct Counted {
        let count: RollUpCellCount
        let at: ContinuousClock.Instant
        /// How many cells this process has added since.
        var added: Int64 = 0
    }

    private struct Cache {
        /// Of `DatabaseIdentityStatements`; nil before the first cell.
        var identity: String?
        var checkedAt = ContinuousClock.now
        var numbers: [Key: Int64] = [:]
        var texts: [AppNumber: RollUpTexts] = [:]
        var counts: [AppNumber: Counted] = [:]

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
    private let limits: RollUpCellLimits

    init(checkInterval: Duration = RollUpCells.checkInterval, limits: RollUpCellLimits = RollUpCellLimits()) {
        self.checkInterval = checkInterval
        self.limits = limits
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
        let result = try await postgres.read(DatabaseIdentityStatements.identity())
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
        let mayAdd = try await mayAdd(to: app, postgres)
        let identity = cache.withLock { $0.identity }
        let texts = cache.withLock { $0.texts[app] } ?? RollUpTexts()
        let creation = try await RollUpCellCreation(keys, mayAdd: mayAdd, texts: texts).run(on: postgres, patience)
        let created = Dictionary(uniqueKeysWithValues: zip(keys, creation.numbers))
        cache.withLock { cache in
            guard cache.identity == identity else { return }
            cache.texts[app, default: RollUpTexts()].merge(creation.texts)
            if cache.texts.values.reduce(0, { $0 + $1.count }) > Self.textsCachedMax { cache.texts.removeAll() }
            if cache.numbers.count + created.count > Self.cachedMax { cache.numbers.removeAll(keepingCapacity: true) }
            cache.numbers.merge(created) { $1 }
            cache.counts[app]?.added += Int64(creation.added)
        }
        return created
    }

    private func mayAdd(to app: AppNumber, _ postgres: PostgresClient) async throws -> Bool {
        let now = ContinuousClock.now
        if let known = cache.withLock({ $0.counts[app] }), known.added < Self.recountAfter {
            let isAdmitted = limits.admitsNew(known.count.adding(known.added))
            if isAdmitted || now - known.at < Self.recountInterval { return isAdmitted }
        }
        let results = try await postgres.execute([
            DatabaseIdentityStatements.identity(),
            RollUpCellStatements.count(of: app, newest: limits.hourlyMax),
        ])
        let identity: String = try results[0][0].decode(0)
        let count = try RollUpCellCount(results[1])
        cache.withLock { cache in
            cache.check(identity, at: now)
            cache.counts[app] = Counted(count: count, at: now)
        }
        return limits.admitsNew(count)
    }
}

/// How many cells one app may have. Clients choose locales, zones and versions freely; the combinations beyond a limit
/// are counted in one overflow cell for each provider and authorization, until the night job finds room for them.
package struct RollUpCellLimits: Sendable {
    let cellsMax: Int64
    /// So many cells are created as they come. A fleet of ten million has some 260,000, most of them by an import.
    let freeMax: Int64
    /// Cells that registrations add in an hour beyond `freeMax`. A new version of a system adds some thousands.
    let hourlyMax: Int64

    package init(cellsMax: Int64 = 1_000_000, freeMax: Int64 = 100_000, hourlyMax: Int64 = 10_000) {
        (self.cellsMax, self.freeMax, self.hourlyMax) = (cellsMax, freeMax, hourlyMax)
    }

    /// Whether registrations may add cells.
    func admitsNew(_ count: RollUpCellCount) -> Bool {
        admitsAll(count) && (count.all < freeMax || count.lastHour < hourlyMax)
    }

    /// Whether an import, a rebuild or the night job may add cells.
    package func admitsAll(_ count: RollUpCellCount) -> Bool { count.all < cellsMax }
}

/// The number of an app's cells.
package struct RollUpCellCount: Sendable {
    var all: Int64
    /// Of those that were created in the last hour, the ones that were looked at.
    var lastHour: Int64

    /// - Parameter result: of `RollUpCellStatements.count`.
    package init(_ result: PostgresResult) throws {
        all = try result[0].decode(0)
        lastHour = try result[0].decode(1)
    }

    func adding(_ more: Int64) -> RollUpCellCount {
        var sum = self
        sum.all += more
        sum.lastHour += more
        return sum
    }
}

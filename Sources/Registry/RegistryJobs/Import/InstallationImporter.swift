import Basics
import PostgresClient
import PushRegistry
import RegistryStore

/// Loads installations of another system, in sets of one transaction each (`ImportSet`). It does not change existing
/// installations, so a failed import can be run again.
public struct InstallationImporter: Sendable {
    /// The outcomes of lines.
    public struct Counts: Hashable, Sendable {
        public var imported = 0
        /// Lines whose installation exists already.
        public var unchanged = 0
        /// Lines whose token another installation holds, or whose user was logged out or erased since.
        public var skipped = 0
        /// Choices about topics on the imported installations.
        public var topicChoices = 0
        /// The forecast about the imported installations; only of a dry run.
        public var forecast = ImportForecast()

        public init() {}

        static func += (left: inout Counts, right: Counts) {
            left.imported += right.imported
            left.unchanged += right.unchanged
            left.skipped += right.skipped
            left.topicChoices += right.topicChoices
            left.forecast += right.forecast
        }
    }

    /// So many that the fixed cost of a transaction does not matter, and so few that a registration does not wait long
    /// for one.
    public static let installationsPerTransaction = 5_000
    /// Sets that are written at the same time, each on its own lane. A second one uses the time that the first leaves
    /// idle; more would slow the service down.
    public static let laneCount = 2
    /// How often a set is tried if it loses races with registrations of the same installations.
    private static let attemptsMax = 20

    private let app: AppNumber
    private let policy: AppPolicy
    private let topics: TopicCatalogue
    private let isDryRun: Bool

    /// - Parameters:
    ///   - policy: of the app, for the forecast.
    ///   - topics: all topics that the installations choose or leave.
    ///   - isDryRun: whether lines are only counted, each as if it were the only one.
    public init(
        into app: AppNumber, policy: AppPolicy = .standard, topics: TopicCatalogue = TopicCatalogue(),
        isDryRun: Bool = false
    ) {
        self.app = app
        self.policy = policy
        self.topics = topics
        self.isDryRun = isDryRun
    }

    /// The session's settings: statements look up many keys by index, whatever the planner knows of a table that is
    /// new; a set fits into memory. A set that waits for a lock for longer lets go of its own locks and is tried again.
    public static let sessionSettings = [
        "lock_timeout": "5s", "statement_timeout": "5min",
        "enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off",
        "work_mem": "64MB",
    ]

    /// The lane on which an installation is loaded. Those of one user are on the same lane: a transaction that adds the
    /// user would make the other lane wait for its end.
    public static func lane(of installation: ImportedInstallation) -> Int {
        var hasher = Hasher()
        hasher.combine(installation.userID?.rawValue ?? installation.installID.rawValue)
        return Int(UInt(bitPattern: hasher.finalize()) % UInt(laneCount))
    }

    /// Loads the installations that `next` returns until it returns nil.
    ///
    /// - Parameters:
    ///   - next: some installations of a lane. It is called on the sessions' threads, at the same time, and may block.
    ///   - stop: called after a failure of a lane. Then `next` must not block any more.
    ///   - progress: called after each transaction with the counts so far, on the same threads.
    /// - Throws: `PostgresError`, and what `next` throws; the sets before stay loaded.
    public func load(
        _ database: PostgresConfiguration,
        from next: @escaping @Sendable (_ lane: Int) throws -> [ImportedInstallation]?,
        stop: @escaping @Sendable () -> Void = {}, progress: @escaping @Sendable (Counts) -> Void = { _ in }
    ) async throws -> Counts {
        let (total, cells) = (Total(), ImportCells(app: app))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<Self.laneCount {
                group.addTask {
                    do {
                        try await loadAlone(database, cells, from: { try next(lane) }) { progress(total.add($0)) }
                    } catch {
                        stop()
                        throw error
                    }
                }
            }
            try await group.waitForAll()
        }
        return total.counts
    }

    private final class Total: Sendable {
        private let state = Locked(Counts())

        var counts: Counts { state.withLock { $0 } }

        func add(_ counts: Counts) -> Counts {
            state.withLock { total in
                total += counts
                return total
            }
        }
    }

    /// - Parameter loaded: called after each transaction with its counts.
    private func loadAlone(
        _ database: PostgresConfiguration, _ cells: ImportCells,
        from next: @escaping @Sendable () throws -> [ImportedInstallation]?,
        loaded: @escaping @Sendable (Counts) -> Void
    ) async throws {
        try await PostgresSession.withSession(database) { session in
            // A set is expected to be as new as the one before it.
            var isNew = true
            while let lines = try nextSet(next, cells, session) {
                try session.checkCancellation()
                let set = ImportSet(lines, of: app, topics)
                let counts =
                    isDryRun ? try preview(set, session) : try write(set, expectingNew: isNew, session)
                isNew = counts.imported == lines.count
                loaded(counts)
            }
        }
    }

    /// The rows of one transaction; nil at the end.
    private func nextSet(
        _ next: () throws -> [ImportedInstallation]?, _ cells: ImportCells, _ session: PostgresSession
    ) throws -> [ImportedRow]? {
        var (parts, count) = ([[ImportedInstallation]](), 0)
        while count < Self.installationsPerTransaction, let part = try next() {
            parts.append(part)
            count += part.count
        }
        guard count > 0 else { return nil }
        let keys = parts.joined().map { RollUpCells.Key(app, $0.token.provider, $0.snapshot) }
        let numbers = isDryRun ? nil : try cells.numbers(of: keys, session)
        return parts.joined().enumerated().map { ImportedRow($1, cell: numbers?[$0] ?? 0) }
    }

    /// A registration of the same installation may come in between, and the night job may forget a user.
    private func write(_ set: ImportSet, expectingNew: Bool, _ session: PostgresSession) throws -> Counts {
        if expectingNew {
            do {
                return try session.withTransaction { try set.write(expectingNew: true, in: session) }
            } catch let error where error.isLostRace || error.isLockTimeout {}
        }
        return try session.withTransaction(attemptsMax: Self.attemptsMax, orIf: \.isLockTimeout) {
            try set.write(expectingNew: false, in: session)
        }
    }

    private func preview(_ set: ImportSet, _ session: PostgresSession) throws -> Counts {
        struct Preview: Error { let counts: Counts }
        do {
            try session.withTransaction { throw Preview(counts: try set.forecast(policy, in: session)) }
            return Counts()
        } catch let preview as Preview {
            return preview.counts
        }
    }
}

/// Counts of the installations of an import as they would be right after it.
public struct ImportForecast: Hashable, Sendable {
    /// How many a push would reach.
    public var reachable: [Provider: Int] = [:]
    /// How many the next clean-up would retire, because nobody has seen them for too long.
    public var retiredNextRun = 0
    /// How many have neither a zone nor an offset.
    public var withoutTimeZone = 0
    public var withoutUser = 0
    /// How many choose each topic.
    public var topics: [TopicNumber: Int] = [:]

    public init() {}

    init(_ rows: [ImportedRow], _ bounds: CleanUpBounds) {
        for row in rows.lazy.map(\.installation) {
            let provider = row.token.provider
            let reachability = Reachability(
                state: .active, sessionExpiresAt: row.session?.expiresAt, settings: row.snapshot.settings,
                provider: provider)
            if reachability.obstacles(at: bounds.asOf).isEmpty { reachable[provider, default: 0] += 1 }
            if row.lastSeenAt ?? bounds.asOf <= bounds.unseenSince(provider) { retiredNextRun += 1 }
            if row.snapshot.device.timeZoneOffset == Device.noTimeZoneOffset { withoutTimeZone += 1 }
            if row.userID == nil { withoutUser += 1 }
            for code in row.topicChoices.codes where code > 0 { topics[TopicNumber(code), default: 0] += 1 }
        }
    }

    static func += (left: inout ImportForecast, right: ImportForecast) {
        left.reachable.merge(right.reachable, uniquingKeysWith: +)
        left.retiredNextRun += right.retiredNextRun
        left.withoutTimeZone += right.withoutTimeZone
        left.withoutUser += right.withoutUser
        left.topics.merge(right.topics, uniquingKeysWith: +)
    }
}

/// The roll-up's cells of an import, in a cache that its sessions share. A cell that is missing is created ahead of the
/// transaction. As in `RollUpCells`, the cache belongs to one state of the database.
final class ImportCells: Sendable {
    private let app: AppNumber
    private let cache = Locked<(identity: String, known: [RollUpCells.Key: Int64])>(("", [:]))

    init(app: AppNumber) {
        self.app = app
    }

    /// - Returns: a number for each key, in their order.
    func numbers(of keys: [RollUpCells.Key], _ session: PostgresSession) throws -> [Int64] {
        let identity: String = try session.execute(DatabaseIdentityStatements.identity())[0].decode(0)
        var numbers = cache.withLock { cache in
            if cache.identity != identity { cache = (identity, [:]) }
            return keys.map { cache.known[$0] }
        }
        let missing = Array(Set(zip(keys, numbers).lazy.filter { $1 == nil }.map(\.0)))
        guard !missing.isEmpty else { return numbers.compactMap(\.self) }
        let created = Dictionary(
            uniqueKeysWithValues: zip(missing, try RollUpCellCreation.run(missing, in: session)))
        add(created, identity)
        for (index, key) in keys.enumerated() where numbers[index] == nil { numbers[index] = created[key] }
        return numbers.compactMap(\.self)
    }

    private func add(_ created: [RollUpCells.Key: Int64], _ identity: String) {
        cache.withLock { cache in
            guard cache.identity == identity else { return }
            if cache.known.count + created.count > RollUpCells.cachedMax {
                cache.known.removeAll(keepingCapacity: true)
            }
            cache.known.merge(created) { $1 }
        }
    }
}

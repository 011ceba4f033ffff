import Locking
import PostgresClient
import PushRegistry

/// Loads installations of another system, in sets of one transaction each. It does not change existing installations,
/// so a failed import can be run again. A set that is new to the registry goes straight into its tables
/// (`NewInstallations`); a set of which the registry has a part is merged.
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
        "temp_buffers": "64MB", "work_mem": "64MB",
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
            _ = try session.execute(ImportStatements.createTable)
            // A set is expected to be as new as the one before it.
            var isNew = true
            while let set = try nextSet(next, cells, session) {
                try session.checkCancellation()
                let counts =
                    isDryRun
                    ? try withLines(set, session) { try preview(set, session) }
                    : try write(set, expectingNew: isNew, session)
                isNew = counts.imported == set.count
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

    private func write(_ set: [ImportedRow], expectingNew: Bool, _ session: PostgresSession) throws -> Counts {
        if expectingNew {
            do {
                let new = try NewInstallations(set, of: app, topics)
                return try session.withTransaction { try new.write(in: session) }
            } catch let error where error is NewInstallations.NotNew || error.isLostRace || error.isLockTimeout {}
        }
        return try withLines(set, session) { try merge(set, session) }
    }

    /// Copies the lines into the session's table for a statement.
    private func withLines(
        _ set: [ImportedRow], _ session: PostgresSession, _ body: () throws -> Counts
    ) throws -> Counts {
        _ = try session.copyIn(ImportStatements.copy) { writer in
            for row in set {
                try writer.write { binds in
                    ImportStatements.binding.bind(row, to: &binds)
                    SnapshotColumns.batch.bind(row.installation.snapshot, to: &binds)
                }
            }
        }
        let counts = try body()
        _ = try session.execute(ImportStatements.empty)
        return counts
    }

    private func preview(_ set: [ImportedRow], _ session: PostgresSession) throws -> Counts {
        let now: PostgresTimestamp = try session.execute(ImportStatements.now)[0].decode(0)
        let bounds = CleanUpBounds(policy, asOf: Timestamp(now))
        var counts = Counts()
        for row in try session.execute(ImportStatements.preview(app, bounds)) {
            counts.unchanged += try row.decode(1, as: Int.self)
            counts.skipped += try row.decode(2, as: Int.self)
            counts.imported += try row.decode(3, as: Int.self)
            counts.forecast += try ImportForecast(row)
        }
        if set.contains(where: { !$0.installation.topicChoices.isEmpty }) {
            let rows = Array(try session.execute(ImportStatements.previewTopics(app, at: now)))
            counts.topicChoices = try rows.reduce(0) { try $0 + $1.decode(2, as: Int.self) }
            try counts.forecast.add(topics: rows)
        }
        return counts
    }

    /// A registration of the same installation may come in between, and the night job may forget a user.
    private func merge(_ set: [ImportedRow], _ session: PostgresSession) throws -> Counts {
        try session.withTransaction(attemptsMax: Self.attemptsMax, orIf: \.isLockTimeout) {
            let now: PostgresTimestamp = try session.execute(ImportStatements.now)[0].decode(0)
            let addedAll = try lockUsers(of: set, at: now, session)
            if set.contains(where: { $0.installation.session != nil }) {
                _ = try session.execute(ImportStatements.addSessions(app))
                let sessions = try session.execute(ImportStatements.shareSessions(app))[0]
                guard try sessions.decode(0, as: Int64.self) == sessions.decode(1) else { throw LostRace() }
            }
            var counts = Counts()
            let position: Int64 = try session.execute(PostgresStatement(RegistrationStatements.now))[0].decode(1)
            let merge = PostgresStatement(
                ImportStatements.merge(app, at: now, position: position, topics, checksUsers: !addedAll))
            let merged = try session.execute(merge)[0]
            (counts.imported, counts.topicChoices) = (try merged.decode(0), try merged.decode(1))
            if counts.imported > 0 {
                // An insertion may have waited for the deletion of the same id, whose event must come earlier.
                let ids = set.map(\.installation.installID.rawValue)
                _ = try session.execute(RegistrationStatements.checkOrder(of: ids, in: app, at: Timestamp(now)))
            }
            guard counts.imported < set.count else { return counts }
            let present: Int64 = try session.execute(ImportStatements.present(app))[0].decode(0)
            counts.unchanged = Int(present) - counts.imported
            counts.skipped = set.count - Int(present)
            return counts
        }
    }

    /// - Returns: whether this transaction has added all users. Else the rows of all of them are locked in share mode.
    private func lockUsers(of set: [ImportedRow], at now: PostgresTimestamp, _ session: PostgresSession) throws -> Bool
    {
        guard set.contains(where: { $0.installation.userID != nil }) else { return true }
        let added = try session.execute(ImportStatements.addUsers(app, at: now))[0]
        if try added.decode(0, as: Int64.self) == added.decode(1) { return true }
        let users = try session.execute(ImportStatements.shareUsers(app))[0]
        guard try users.decode(0, as: Int64.self) == users.decode(1) else { throw LostRace() }
        return false
    }
}

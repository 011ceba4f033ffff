import PostgresClient
import PushRegistry
import Synchronization

/// Loads installations that were registered elsewhere, set by set, each in one transaction. What is there stays as it is: an import
/// that failed is simply run again.
public struct InstallationImporter: Sendable {
    /// What became of lines.
    public struct Counts: Hashable, Sendable {
        public var imported = 0
        /// The installation is there already.
        public var unchanged = 0
        /// Another installation holds the token, or the user was logged out or erased since.
        public var skipped = 0

        public init() {}

        static func += (left: inout Counts, right: Counts) {
            left.imported += right.imported
            left.unchanged += right.unchanged
            left.skipped += right.skipped
        }
    }

    /// Enough to make a transaction's own cost vanish; few enough that a registration which waits for one does not wait long.
    public static let installationsPerTransaction = 20_000
    /// Sets that are written at the same time: a second one uses what the first leaves idle, more would take from the service.
    private static let sessionCount = 2
    /// How often a set is tried that registrations of the same installations get in the way of.
    private static let attemptsMax = 5

    private let app: AppNumber
    private let isDryRun: Bool

    /// - Parameter isDryRun: whether lines are only counted: as if each were the only one.
    public init(into app: AppNumber, isDryRun: Bool = false) {
        self.app = app
        self.isDryRun = isDryRun
    }

    /// The session's settings: statements look up many keys by index, whatever the planner knows of a table that is new; a set fits
    /// into memory.
    public static let sessionSettings = [
        "enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off",
        "temp_buffers": "64MB", "work_mem": "64MB",
    ]

    /// Loads what `next` gives until it gives nil.
    ///
    /// - Parameters:
    ///   - next: some installations. It is called on the sessions' threads, at the same time, and may block.
    ///   - progress: called after each transaction with the counts so far, on the same threads.
    /// - Throws: `PostgresError`, and what `next` throws; the sets before stay loaded.
    public func load(
        _ database: PostgresConfiguration, from next: @escaping @Sendable () throws -> [ImportedInstallation]?,
        progress: @escaping @Sendable (Counts) -> Void = { _ in }
    ) async throws -> Counts {
        let total = Total()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.sessionCount {
                group.addTask { try await loadAlone(database, from: next) { progress(total.add($0)) } }
            }
            try await group.waitForAll()
        }
        return total.counts
    }

    private final class Total: Sendable {
        private let state = Mutex(Counts())

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
        _ database: PostgresConfiguration, from next: @escaping @Sendable () throws -> [ImportedInstallation]?,
        loaded: @escaping @Sendable (Counts) -> Void
    ) async throws {
        try await PostgresSession.withSession(database) { session in
            _ = try session.execute(ImportStatements.makeTable)
            var isEnd = false
            while !isEnd {
                try session.checkCancellation()
                let (count, hasUsers) = try copy(next, &isEnd, session)
                guard count > 0 else { continue }
                let counts = try isDryRun ? preview(count, session) : merge(count, hasUsers: hasUsers, session)
                _ = try session.execute(ImportStatements.empty)
                loaded(counts)
            }
        }
    }

    /// - Returns: how many lines there are now, and whether one names a user.
    private func copy(
        _ next: () throws -> [ImportedInstallation]?, _ isEnd: inout Bool, _ session: PostgresSession
    ) throws -> (count: Int, hasUsers: Bool) {
        var (count, hasUsers, ended) = (0, false, false)
        _ = try session.copyIn(ImportStatements.copy) { writer in
            while count < Self.installationsPerTransaction {
                guard let installations = try next() else {
                    ended = true
                    break
                }
                for installation in installations {
                    hasUsers = hasUsers || installation.userID != nil
                    try writer.write { binds in
                        ImportStatements.binding.bind(installation, to: &binds)
                        SnapshotColumns.batch.bind(installation.snapshot, to: &binds)
                    }
                }
                count += installations.count
            }
        }
        isEnd = ended
        return (count, hasUsers)
    }

    private func preview(_ count: Int, _ session: PostgresSession) throws -> Counts {
        let row = try session.execute(ImportStatements.preview(app))[0]
        var counts = Counts()
        counts.unchanged = Int(try row.decode(0, as: Int64.self))
        counts.skipped = Int(try row.decode(1, as: Int64.self))
        counts.imported = count - counts.unchanged - counts.skipped
        return counts
    }

    /// Of two transactions that wait for each other the server ends one: this one is tried again. So it is where the night job forgot a
    /// user just now.
    private func merge(_ count: Int, hasUsers: Bool, _ session: PostgresSession) throws -> Counts {
        for _ in 1..<Self.attemptsMax {
            do {
                return try session.withTransaction { try mergeOnce(count, hasUsers: hasUsers, session) }
            } catch let error as PostgresError where error.kind == .deadlock {
                continue
            } catch is ForgottenGuard {
                continue
            }
        }
        return try session.withTransaction { try mergeOnce(count, hasUsers: hasUsers, session) }
    }

    private func mergeOnce(_ count: Int, hasUsers: Bool, _ session: PostgresSession) throws -> Counts {
        if hasUsers {
            _ = try session.execute(ImportStatements.addUsers(app))
            let users = try session.execute(ImportStatements.shareUsers(app))[0]
            guard try users.decode(0, as: Int64.self) == users.decode(1) else { throw ForgottenGuard() }
            _ = try session.execute(ImportStatements.addSessions(app))
            let sessions = try session.execute(ImportStatements.shareSessions(app))[0]
            guard try sessions.decode(0, as: Int64.self) == sessions.decode(1) else { throw ForgottenGuard() }
        }
        var counts = Counts()
        counts.imported = try session.execute(ImportStatements.merge(app)).affectedRows
        guard counts.imported < count else { return counts }
        let present: Int64 = try session.execute(ImportStatements.present(app))[0].decode(0)
        counts.unchanged = Int(present) - counts.imported
        counts.skipped = count - Int(present)
        return counts
    }
}

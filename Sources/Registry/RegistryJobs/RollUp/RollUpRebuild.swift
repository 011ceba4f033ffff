import PostgresClient
import PushRegistry
import RegistryStore

/// Corrects the roll-up by a recount of the installations, while registrations continue.
///
/// It empties no table, and no writer waits for more than a batch. It compares counts and installations in one snapshot
/// and appends the differences as deltas, which add up with those of concurrent transactions. An interrupted rebuild
/// can be run again.
public struct RollUpRebuild: Sendable {
    public enum Step: Sendable {
        /// Installations get the cells that fit them, and are counted.
        case recounting
        /// Folding corrections and other pending deltas: the number so far, and of all.
        case folding(Int, of: Int)
    }

    public struct Report: Sendable {
        /// Cells of the cube that were wrong.
        public fileprivate(set) var cells = 0
        /// Installations that had no cell, or a wrong one.
        public fileprivate(set) var installations = 0
        /// Deltas that were folded, corrections included.
        public fileprivate(set) var folded = 0
    }

    private let configuration: PostgresConfiguration

    public init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
    }

    /// - Parameter progress: called at the beginning of each step, for each app, on another thread.
    /// - Throws: `PostgresError`; `cancelled` between two steps if the task is cancelled.
    public func run(progress: @escaping @Sendable (Step) -> Void = { _ in }) async throws -> Report {
        try await PostgresSession.withSession(configuration) { session in
            var report = Report()
            for row in try session.execute(RollUpStatements.allApps) {
                try Self.rebuild(AppNumber(try row.decode(0)), in: session, &report, progress)
            }
            return report
        }
    }

    /// An app that is being deleted is left alone, also if it was listed before.
    static func rebuild(
        _ app: AppNumber, in session: PostgresSession, _ report: inout Report, _ progress: (Step) -> Void
    ) throws {
        progress(.recounting)
        let isPresent = try session.withTransaction {
            guard try !session.execute(RollUpRebuildStatements.keep(app)).isEmpty else { return false }
            _ = try session.execute(RollUpStatements.addState(app))
            return true
        }
        guard isPresent else { return }
        report.installations += try assignCells(of: app, in: session)
        report.cells += try session.execute(RollUpRebuildStatements.removeUnreachable(app)).affectedRows
        report.cells += try recount(app, in: session)
        try session.checkCancellation()
        report.folded += try fold(app, in: session, progress)
        // Cubes in memory may be of the wrong counts, or not: the corrections fit only those of the database.
        _ = try session.execute(RollUpRebuildStatements.renew(app))
    }

    private static func assignCells(of app: AppNumber, in session: PostgresSession) throws -> Int {
        try RollUpCellAssignment(app, leavesOverflow: true).steps.runBlocking { unit in
            try session.checkCancellation()
            return try unit.map(session.execute)
        }
    }

    private static func recount(_ app: AppNumber, in session: PostgresSession) throws -> Int {
        try session.withTransaction {
            try session.run(script: RollUpRebuildStatements.snapshot)
            _ = try session.execute(RollUpStatements.settings)
            let time: PostgresTimestamp = try session.execute(RollUpRebuildStatements.time(of: app))[0].decode(0)
            return try session.execute(RollUpRebuildStatements.appendCorrections(app, at: time))[0].decode(1)
        }
    }

    /// Folds as much as is pending at the beginning; another process may fold a part of it.
    private static func fold(
        _ app: AppNumber, in session: PostgresSession, _ progress: (Step) -> Void
    ) throws -> Int {
        let pending: Int = try session.execute(RollUpRebuildStatements.pending(of: app))[0].decode(0)
        var folded = 0
        while folded < pending {
            progress(.folding(folded, of: pending))
            guard let outcome = try RollUpFold.run(app, in: session), outcome.deltas > 0 else { break }
            folded += outcome.deltas
            try session.checkCancellation()
        }
        return folded
    }
}

import PostgresClient

/// Brings the roll-up in line with a recount of the installations, while registrations go on.
///
/// Nothing is emptied, and no writer waits: cells and installations are compared in one snapshot, and the differences are appended
/// as deltas, which add up with those that others write meanwhile. Every step is a transaction; a rebuild that was cut short
/// is simply done again.
public struct RollUpRebuild: Sendable {
    public enum Step: Sendable {
        /// The marginals are held against the cube; folding waits for it.
        case aligning
        /// All installations are counted.
        case recounting
        /// Corrections are folded, with what else is pending: so many of so many so far.
        case folding(Int, of: Int)
    }

    public struct Report: Sendable {
        /// Cells of the marginals, and malformed ones, that were wrong.
        public let marginals: Int
        /// Cells of the cube that were wrong.
        public let cells: Int
        /// Deltas that were folded, corrections included.
        public let folded: Int
    }

    private static let batch: Int32 = 20_000

    private let configuration: PostgresConfiguration

    public init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
    }

    /// - Parameter progress: told at the beginning of each step, on another thread.
    /// - Throws: `PostgresError`; `cancelled` between two steps if the task is cancelled.
    public func run(progress: @escaping @Sendable (Step) -> Void = { _ in }) async throws -> Report {
        try await PostgresSession.withSession(configuration) { session in
            progress(.aligning)
            let marginals: Int = try session.execute(RollUpStatements.align)[0].decode(0)
            try session.checkCancellation()
            progress(.recounting)
            let cells: Int = try session.execute(RollUpStatements.appendCorrections)[0].decode(0)
            try session.checkCancellation()
            let folded = try fold(session, progress)
            return Report(marginals: marginals, cells: cells, folded: folded)
        }
    }

    /// Folds as much as is pending at the beginning; another process may fold a part of it.
    private func fold(_ session: PostgresSession, _ progress: (Step) -> Void) throws -> Int {
        let pending: Int = try session.execute(RollUpStatements.pending)[0].decode(0)
        var folded = 0
        while folded < pending {
            progress(.folding(folded, of: pending))
            guard let step: Int32 = try session.execute(RollUpStatements.fold(Self.batch))[0].decode(0) else { break }
            folded += Int(step)
            if step < Self.batch { break }
            try session.checkCancellation()
        }
        return folded
    }
}

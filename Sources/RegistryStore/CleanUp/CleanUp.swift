import PostgresClient
import PushRegistry

/// The night job: retires what is due by the apps' policies, purges what was retired long ago, and keeps history and its partitions.
///
/// A batch is one statement and so one transaction: it does everything that it does or nothing. A run that is cut short has done its
/// batches, and the next run finds the rest due: nothing has to be resumed.
public struct CleanUp: Sendable {
    public struct Options: Sendable {
        /// Changes nothing.
        public var isDryRun = false
        public var breaker = CleanUpBreaker()
        /// How long events and settings snapshots are kept.
        public var historyRetention = ISO8601Duration.days(400)
        /// Installations of one transaction, whose rows are locked for some 50 ms.
        public var batch: Int64 = 1_000
        /// Where the run is, for its record: host and process.
        public var process = ""

        public init() {}
    }

    public enum Progress: Sendable {
        case counting
        /// So many of so many installations.
        case retiring(Int, of: Int)
        case upkeep
    }

    let configuration: PostgresConfiguration

    /// - Parameter configuration: a session of its own with the planner's normal settings; no pooler that hands it on between
    ///   transactions.
    public init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
    }

    /// - Throws: `CleanUpRefusal.busy`, `PostgresError`; `cancelled` between two batches if the task is cancelled.
    public func run(
        _ options: Options, progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) async throws -> CleanUpReport {
        try await PostgresSession.withSession(configuration) { session in
            try session.run(script: Self.sessionSettings)
            let ledger = CleanUpLedger(session: session)
            if !options.isDryRun { try ledger.lock() }
            progress(.counting)
            let plan = try CleanUpPlan(session, options.breaker)
            let historyBefore = plan.asOf.preceding(by: options.historyRetention)
            if options.isDryRun { return try Self.forecast(session, plan, historyBefore) }
            let run = try ledger.begin(process: options.process, maxShare: options.breaker.maxShare)
            let work = CleanUpWork(session: session, ledger: ledger, run: run, batch: options.batch)
            do {
                try work.begin(plan)
                try work.retire(progress)
                progress(.upkeep)
                try work.keepUp(historyBefore: historyBefore)
                try ledger.end(run, plan.isRefused ? "refused" : "done")
                return try ledger.report(of: run)
            } catch {
                try? ledger.end(run, "failed")
                throw error
            }
        }
    }

    /// The newest runs, newest first.
    public func runs(limit: Int) async throws -> [CleanUpRun] {
        try await PostgresSession.withSession(configuration) { try CleanUpLedger(session: $0).runs(limit: limit) }
    }

    /// What a crash of the server loses of a run is due again, so nobody waits for its disk. Who is in the way for long is tried again.
    static let sessionSettings = """
        SET synchronous_commit = off; SET lock_timeout = '5s'; SET jit = off; SET max_parallel_workers_per_gather = 0
        """

    private static func forecast(
        _ session: PostgresSession, _ plan: CleanUpPlan, _ historyBefore: Timestamp
    ) throws -> CleanUpReport {
        let upkeep = CleanUpUpkeep(session: session)
        return CleanUpReport(
            runID: nil, apps: plan.results, tombstones: try upkeep.countTombstones(), partitionsMade: 0,
            partitionsDropped: try upkeep.expiredPartitions(before: historyBefore).count, historyRemoved: 0)
    }
}

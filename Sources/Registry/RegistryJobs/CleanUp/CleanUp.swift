import PostgresClient
import PushRegistry
import RegistryStore

/// The night job: retires the installations that are due by the apps' policies, purges those that were retired long
/// ago, and keeps history and its partitions.
///
/// A batch is one transaction. An interrupted run has committed its finished batches, and the next run finds the rest
/// due: it need not resume anything.
public struct CleanUp: Sendable {
    public struct Options: Sendable {
        /// Changes nothing.
        public var isDryRun = false
        /// Only these, and no history, which all apps share. Empty: all of them.
        public var apps: Set<AppID> = []
        public var breaker = CleanUpBreaker()
        /// How long events, settings snapshots and entries of the audit are kept.
        public var historyRetention = ISO8601Duration.days(400)
        /// Pages that one statement reads: 32 MiB, in some tenths of a second.
        var pagesPerRead: Int64 = 4_096
        /// Keys of due installations that are kept in memory, some 120 bytes each. What is due beyond that is read
        /// again before it is written.
        var keysMax = 500_000
        /// Kept keys whose installations are written together, in the order of the roll-up's cells.
        var keysPerPart = 100_000
        var cells = UnusedCells.Options()
        /// The run's host and process, for its record.
        public var process = ""

        public init() {}
    }

    public enum Progress: Sendable {
        /// Reads the table part by part: the index of the part, and the number of all parts.
        case reading(Int, of: Int)
        /// Retires installations: the number of finished ones, and of all that are due.
        case retiring(Int, of: Int)
        /// Looks for tokens without an address: the index of the part of the table, and the number of all parts.
        case readdressing(Int, of: Int)
        case upkeep
    }

    let configuration: PostgresConfiguration

    /// - Parameter configuration: a session of its own with the planner's normal settings; no pooler that hands it on
    ///   between transactions.
    public init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
    }

    /// - Throws: `CleanUpRefusal`, `PostgresError`; `cancelled` between two batches if the task is cancelled.
    public func run(
        _ options: Options, progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) async throws -> CleanUpReport {
        try await PostgresSession.withSession(configuration) { session in
            let nodes = try CleanUpNodes.beginning(session)
            let ledger = CleanUpLedger(session: session)
            if !options.isDryRun { try ledger.lock() }
            defer { if !options.isDryRun { ledger.unlock() } }
            let plan = try CleanUpPlan(session, nodes, options, progress)
            let historyBefore = options.apps.isEmpty ? plan.asOf.preceding(by: options.historyRetention) : nil
            if options.isDryRun { return try Self.forecast(session, nodes, plan, historyBefore) }
            let run = try ledger.begin(
                process: options.process, apps: options.apps, maxShare: options.breaker.maxShare)
            let work = CleanUpWork(session: session, nodes: nodes, ledger: ledger, run: run, cells: options.cells)
            do {
                try work.begin(plan)
                if historyBefore != nil { try work.makePartitions() }
                try work.retire(plan, progress)
                let readdressed = historyBefore == nil ? .init() : try work.readdress(progress)
                progress(.upkeep)
                try work.keepUp(plan, historyBefore: historyBefore)
                try ledger.end(run, nodes.hasFaults ? "failed" : plan.isRefused ? "refused" : "done")
                var report = try ledger.report(of: run, plan, nodes)
                report.readdressed = readdressed
                return report
            } catch {
                try? ledger.end(run, "failed")
                throw error
            }
        }
    }

    public struct Undoing: Sendable {
        public let runID: Int
        public let restored: Int
        /// Installations of the undone run that no undo has restored.
        public let skipped: Int
    }

    /// Restores a run's installations that became stale or unregistered and have not changed since. What else a run
    /// takes comes back with the next registration (R10).
    ///
    /// - Parameter entry: for the audit, with the first installations.
    /// - Throws: `CleanUpRefusal`, `PostgresError`.
    public func undo(_ run: Int, process: String, recording entry: AuditEntry) async throws -> Undoing {
        try await PostgresSession.withSession(configuration) { session in
            let nodes = try CleanUpNodes.beginning(session)
            let ledger = CleanUpLedger(session: session)
            try ledger.lock()
            defer { ledger.unlock() }
            guard let number = Int32(exactly: run), let undone = try ledger.run(number) else {
                throw CleanUpRefusal.unknownRun(run)
            }
            guard !undone.isUndoing else { throw CleanUpRefusal.notUndoable(run) }
            let own = try ledger.begin(process: process, undoes: number)
            do {
                let work = CleanUpWork(session: session, nodes: nodes, ledger: ledger, run: own)
                try work.restore(from: undone.start, to: undone.end, recording: entry)
                try ledger.end(own, nodes.hasFaults ? "failed" : "done")
                return Undoing(
                    runID: Int(own), restored: try ledger.restored(by: own), skipped: try ledger.left(of: number))
            } catch {
                try? ledger.end(own, "failed")
                throw error
            }
        }
    }

    /// The newest runs, newest first.
    public func runs(limit: Int) async throws -> [CleanUpRun] {
        try await PostgresSession.withSession(configuration) { try CleanUpLedger(session: $0).runs(limit: limit) }
    }

    private static func forecast(
        _ session: PostgresSession, _ nodes: CleanUpNodes, _ plan: CleanUpPlan, _ historyBefore: Timestamp?
    ) throws -> CleanUpReport {
        let history = HistoryMonths(session: session)
        let months = try historyBefore.map { try history.expired(before: $0) } ?? []
        let upkeep = CleanUpUpkeep(session: session, nodes: nodes, plan)
        return CleanUpReport(
            runID: nil, apps: plan.results(with: try upkeep.countTypedTokens()),
            tombstones: try upkeep.countTombstones(),
            partitionsMade: historyBefore == nil ? 0 : try Partitions.missing(session),
            partitionsDropped: months.reduce(0) { $0 + $1.partitions.count }
                + (historyBefore == nil ? 0 : try plan.messages(session, nodes).expired().count),
            historyRemoved: try months.last.map { try history.countInDefaults(before: $0.end) } ?? 0)
    }
}

import PostgresClient
import PushRegistry
import RegistryStore

/// The records of runs, and the lock that lets one run at a time.
struct CleanUpLedger {
    let session: PostgresSession

    /// Takes the lock for as long as the session lasts.
    ///
    /// - Throws: `CleanUpRefusal.busy`.
    func lock() throws {
        let isLocked: Bool = try session.execute(CleanUpLedgerStatements.lock)[0].decode(0)
        guard isLocked else {
            throw CleanUpRefusal.busy(try session.execute(CleanUpLedgerStatements.holder)[0].decode(0))
        }
    }

    /// Releases the lock. The end of the session would release it too, but some time after the client has disconnected.
    func unlock() {
        _ = try? session.execute(CleanUpLedgerStatements.unlock)
    }

    /// Begins a record. The caller has the lock, so no other run is in progress: a record that is still `running`
    /// belongs to an interrupted run.
    ///
    /// - Parameter apps: the apps to which the run is limited; empty for all apps and history.
    func begin(
        process: String, apps: Set<AppID> = [], undoes: Int32? = nil, maxShare: Double? = nil
    ) throws -> Int32 {
        _ = try session.execute(CleanUpLedgerStatements.interrupt)
        let scope = apps.isEmpty ? nil : apps.map(\.rawValue).sorted()
        let own: Int32 = try session.execute(
            PostgresStatement(CleanUpLedgerStatements.begin, process, scope, undoes, maxShare))[0].decode(0)
        if let undoes {
            _ = try session.execute(PostgresStatement(CleanUpLedgerStatements.addUndoneResults, own, undoes))
        }
        return own
    }

    /// Nil if there is no such run.
    func run(_ number: Int32) throws -> (isUndoing: Bool, start: PostgresTimestamp, end: PostgresTimestamp)? {
        try session.execute(PostgresStatement(CleanUpLedgerStatements.run, number)).first.map { row in
            (try row.decode(0, as: Int32?.self) != nil, try row.decode(1), try row.decode(2))
        }
    }

    /// How many installations an undo has restored.
    func restored(by own: Int32) throws -> Int {
        try session.execute(PostgresStatement(CleanUpLedgerStatements.restored, own))[0].decode(0)
    }

    /// How many installations of a run no undo has restored.
    func left(of run: Int32) throws -> Int {
        try session.execute(PostgresStatement(CleanUpLedgerStatements.left, run))[0].decode(0)
    }

    func add(_ result: CleanUpReport.AppResult, of app: AppNumber, to run: Int32) throws {
        _ = try session.execute(
            PostgresStatement(
                CleanUpLedgerStatements.addResult, run, app.rawValue, Int64(result.active), Int64(result.leaving),
                result.isRefused))
    }

    /// Adds to the counts of an app: for the transaction that changes the installations.
    func counting(_ installations: Int, _ step: CleanUpStep, of app: AppNumber, in run: Int32) -> PostgresStatement {
        PostgresStatement(CleanUpLedgerStatements.countSteps) { binds in
            binds.bind(run)
            binds.bind(app.rawValue)
            for other in CleanUpStep.allCases { binds.bind(Int64(other == step ? installations : 0)) }
        }
    }

    /// Adds to the typed tokens of an app that were deleted.
    func count(typedTokens: Int, of app: AppNumber, in run: Int32) throws {
        _ = try session.execute(
            PostgresStatement(CleanUpLedgerStatements.countTypedTokens, run, app.rawValue, Int64(typedTokens)))
    }

    /// Adds to a run's counts besides installations.
    func count(
        tombstones: Int = 0, partitionsMade: Int = 0, partitionsDropped: Int = 0, historyRemoved: Int = 0, of run: Int32
    ) throws {
        _ = try session.execute(
            PostgresStatement(
                CleanUpLedgerStatements.count, run, Int64(tombstones), Int64(partitionsMade), Int64(partitionsDropped),
                Int64(historyRemoved)))
    }

    /// Records a whole pass over the tokens.
    func count(readdressed: Int, of run: Int32) throws {
        _ = try session.execute(
            PostgresStatement(CleanUpLedgerStatements.countReaddressed, run, Int64(readdressed)))
    }

    func end(_ run: Int32, _ outcome: String) throws {
        _ = try session.execute(PostgresStatement(CleanUpLedgerStatements.end, run, outcome))
    }

    func report(of run: Int32, _ plan: CleanUpPlan, _ nodes: CleanUpNodes) throws -> CleanUpReport {
        let totals = try session.execute(PostgresStatement(CleanUpLedgerStatements.totals, run))[0]
        let entries = Dictionary(uniqueKeysWithValues: plan.entries.map { ($0.result.app, $0) })
        let apps = try session.execute(PostgresStatement(CleanUpLedgerStatements.results, run)).map { row in
            let app: String = try row.decode(0)
            return CleanUpReport.AppResult(
                app: app, active: try row.decode(1), leaving: try row.decode(2), isRefused: try row.decode(3),
                counts: try CleanUpCounts(row, from: 4), policyFault: entries[app]?.result.policyFault,
                nodeFault: entries[app].flatMap { nodes.fault(of: $0.app) })
        }
        return CleanUpReport(
            runID: Int(run), apps: apps, tombstones: try totals.decode(0), partitionsMade: try totals.decode(1),
            partitionsDropped: try totals.decode(2), historyRemoved: try totals.decode(3),
            historyFault: nodes.historyFault)
    }

    /// The newest first.
    func runs(limit: Int) throws -> [CleanUpRun] {
        try session.execute(PostgresStatement(CleanUpLedgerStatements.runs, Int64(limit))).map { row in
            CleanUpRun(
                id: try row.decode(0), undoes: try row.decode(1), apps: try row.decode(2),
                startedAt: Timestamp(try row.decode(3, as: PostgresTimestamp.self)),
                finishedAt: try row.decode(4, as: PostgresTimestamp?.self).map { Timestamp($0) },
                outcome: try row.decode(5), counts: try CleanUpCounts(row, from: 7), restored: try row.decode(6))
        }
    }
}

extension CleanUpCounts {
    /// Columns in the order of `CleanUpStep.allCases`, and that of typed tokens.
    init(_ row: PostgresRow, from first: Int) throws {
        self.init()
        for (index, step) in CleanUpStep.allCases.enumerated() { self[step] = try row.decode(first + index) }
        typedTokens = try row.decode(first + CleanUpStep.allCases.count)
    }
}

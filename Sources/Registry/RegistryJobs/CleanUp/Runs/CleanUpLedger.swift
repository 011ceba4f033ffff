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
            CleanUpLedgerStatements.begin(process, scope, undoes, maxShare))[0].decode(0)
        if let undoes {
            _ = try session.execute(CleanUpLedgerStatements.addUndoneResults(own, undoes))
        }
        return own
    }

    /// Nil if there is no such run.
    func run(_ number: Int32) throws -> (isUndoing: Bool, start: PostgresTimestamp, end: PostgresTimestamp)? {
        try session.execute(CleanUpLedgerStatements.run(number)).first.map { row in
            (try row.decode(0, as: Int32?.self) != nil, try row.decode(1), try row.decode(2))
        }
    }

    /// How many installations an undo has restored.
    func restored(by own: Int32) throws -> Int {
        try session.execute(CleanUpLedgerStatements.restored(own))[0].decode(0)
    }

    /// How many installations of a run no undo has restored.
    func left(of run: Int32) throws -> Int {
        try session.execute(CleanUpLedgerStatements.left(run))[0].decode(0)
    }

    func add(_ result: CleanUpReport.AppResult, of app: AppNumber, to run: Int32) throws {
        _ = try session.execute(
            CleanUpLedgerStatements.addResult(
                run, app.rawValue, Int64(result.active), Int64(result.leaving),
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
        _ = try session.execute(CleanUpLedgerStatements.countTypedTokens(run, app.rawValue, Int64(typedTokens)))
    }

    /// Adds to a run's counts besides installations.
    func count(
        tombstones: Int = 0, partitionsMade: Int = 0, partitionsDropped: Int = 0, historyRemoved: Int = 0, of run: Int32
    ) throws {
        _ = try session.execute(
            CleanUpLedgerStatements.count(
                run, Int64(tombstones), Int64(partitionsMade), Int64(partitionsDropped),
                Int64(historyRemoved)))
    }

    /// Records a whole pass over the tokens.
    func count(readdressed: Int, of run: Int32) throws {
        _ = try session.execute(CleanUpLedgerStatements.countReaddressed(run, Int64(readdressed)))
    }

    func end(_ run: Int32, _ outcome: String) throws {
        _ = try session.execute(CleanUpLedgerStatements.end(run, outcome))
    }

    func report(of run: Int32, _ plan: CleanUpPlan, _ nodes: CleanUpNodes) throws -> CleanUpReport {
        let totals = try session.execute(CleanUpLedgerStatements.totals(run))[0]
        let entries = Dictionary(uniqueKeysWithValues: plan.entries.map { ($0.result.app, $0) })
        let apps = try session.execute(CleanUpLedgerStatements.results(run)).map { row in
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
        try session.execute(CleanUpLedgerStatements.runs(Int64(limit))).map { row in
            CleanUpRun(
                id: try row.decode(0), undoes: try row.decode(1), apps: try row.decode(2),
                startedAt: try row.decode(3), finishedAt: try row.decode(4), outcome: try row.decode(5),
                counts: try CleanUpCounts(row, from: 7), restored: try row.decode(6))
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

/// The SQL of the records of runs: `push-registry cleanup` and its `runs` and `undo`. `$1` is the run.
enum CleanUpLedgerStatements {
    private static let now: PostgresSQL = "clock_timestamp()"
    private static let lockKey: PostgresSQL = "hashtext('push-registry: clean-up')::bigint"

    /// Clean-up: takes the lock that admits one run at a time.
    static let lock: PostgresStatement = "SELECT pg_try_advisory_lock(\(sql: lockKey))"
    /// Clean-up: releases this lock.
    static let unlock: PostgresStatement = "SELECT pg_advisory_unlock(\(sql: lockKey))"

    /// Clean-up: describes the run that has the lock, for the message.
    static let holder: PostgresStatement = """
        SELECT coalesce((
            SELECT 'run ' || r.id || ', ' || r.process || ', since ' ||
                to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            FROM cleanup_run r WHERE r.outcome = 'running' ORDER BY r.id DESC LIMIT 1), 'just starting')
            || coalesce((
                SELECT ' (session ' || l.pid || ' of PostgreSQL)' FROM pg_locks l
                WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
                    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    AND ((l.classid::bigint << 32) | l.objid::bigint) = \(sql: lockKey)
                LIMIT 1), '')
        """

    /// Clean-up: ends the records of interrupted runs.
    static let interrupt: PostgresStatement =
        "UPDATE cleanup_run SET outcome = 'interrupted', finished_at = \(sql: now) WHERE outcome = 'running'"

    /// Clean-up: begins the record of a run.
    /// `$1` is the process, `$2` the scope, `$3` the undone run, `$4` the breaker's share. A run begins after the run
    /// before it ended, even if the clock stood still.
    static let begin = PreparedSQL(
        """
        INSERT INTO cleanup_run (process, apps, undoes, max_share, started_at)
        SELECT $1, $2, $3, $4, greatest(\(sql: now), max(finished_at) + interval '1 microsecond') FROM cleanup_run
        RETURNING id
        """)

    /// Clean-up (R11): records the counts of the plan for an app.
    static let addResult = PreparedSQL(
        """
        INSERT INTO cleanup_result (run_id, app_id, active, leaving, refused)
        SELECT $1, id, $3, $4, $5 FROM app WHERE id = $2 FOR KEY SHARE
        """)

    /// Clean-up (R11): adds to the counts of an app.
    /// `$1` is the run, `$2` the app, the rest one number for each step.
    static let countSteps = PreparedSQL(
        "UPDATE cleanup_result SET \(sql: additions) WHERE run_id = $1 AND app_id = $2")

    /// Clean-up (fine print 120): adds to the deleted typed tokens of an app.
    static let countTypedTokens = PreparedSQL(
        "UPDATE cleanup_result SET typed_tokens = typed_tokens + $3 WHERE run_id = $1 AND app_id = $2")

    private static let additions = CleanUpStep.allCases.enumerated()
        .map { index, step in
            let column = PostgresSQL(identifier: step.column)
            return "\(sql: column) = \(sql: column) + \(sql: PostgresSQL(trusted: "$\(index + 3)"))" as PostgresSQL
        }
        .joined(separator: ", ")

    /// cleanup undo: adds a row of results for each app.
    /// `$1` is the undoing run, `$2` the undone one.
    static let addUndoneResults = PreparedSQL(
        """
        INSERT INTO cleanup_result (run_id, app_id)
        SELECT $1, id FROM app WHERE id IN (SELECT app_id FROM cleanup_result WHERE run_id = $2) FOR KEY SHARE
        """)

    /// cleanup undo: adds to the restored installations of an app.
    static let countRestored = PreparedSQL(
        "UPDATE cleanup_result SET restored = restored + $3 WHERE run_id = $1 AND app_id = $2")

    /// cleanup undo: reads a run, which run it undoes itself, and its time.
    static let run = PreparedSQL(
        "SELECT undoes, started_at, coalesce(finished_at, 'infinity') FROM cleanup_run WHERE id = $1")

    /// cleanup undo: counts the installations that it has restored.
    static let restored = PreparedSQL(
        "SELECT coalesce(sum(restored), 0)::bigint FROM cleanup_result WHERE run_id = $1")

    /// cleanup undo: counts installations that no undo has restored.
    /// `$1` is the undone run.
    static let left = PreparedSQL(
        """
        SELECT coalesce(sum(superseded + unregistered + session_ended + stale), 0)::bigint - (
                SELECT coalesce(sum(u.restored), 0) FROM cleanup_result u
                WHERE u.run_id IN (SELECT id FROM cleanup_run WHERE undoes = $1))::bigint
        FROM cleanup_result WHERE run_id = $1
        """)

    /// Clean-up: adds to the counts of a run.
    static let count = PreparedSQL(
        """
        UPDATE cleanup_run
        SET tombstones = tombstones + $2, partitions_made = partitions_made + $3,
            partitions_dropped = partitions_dropped + $4, history_removed = history_removed + $5
        WHERE id = $1
        """)

    /// Clean-up: records how many tokens without an address a run has found.
    static let countReaddressed = PreparedSQL(
        "UPDATE cleanup_run SET readdressed = $2 WHERE id = $1")

    /// Clean-up: ends the record of a run.
    static let end = PreparedSQL(
        "UPDATE cleanup_run SET outcome = $2, finished_at = greatest(\(sql: now), started_at) WHERE id = $1")

    /// Clean-up: reads the counts of a run.
    static let totals = PreparedSQL(
        "SELECT tombstones, partitions_made, partitions_dropped, history_removed FROM cleanup_run WHERE id = $1")

    /// Clean-up: reads the results of a run, by app.
    static let results = PreparedSQL(
        """
        SELECT a.identifier, r.active, r.leaving, r.refused, \(sql: counts("r")) FROM cleanup_result r
        JOIN app a ON a.id = r.app_id WHERE r.run_id = $1 ORDER BY a.identifier
        """)

    /// cleanup runs: lists runs, the newest first.
    /// `$1` is the number of runs.
    static let runs = PreparedSQL(
        """
        SELECT n.id, n.undoes, n.apps, n.started_at, n.finished_at, n.outcome, t.restored, \(sql: counts("t"))
        FROM cleanup_run n
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(restored), 0)::bigint AS restored, \(sql: sums)
            FROM cleanup_result WHERE run_id = n.id) AS t
        ORDER BY n.id DESC LIMIT $1
        """)

    private static func counts(_ table: String) -> PostgresSQL {
        counted.map { "\(identifier: table).\(identifier: $0)" as PostgresSQL }.joined(separator: ", ")
    }

    private static let counted = CleanUpStep.allCases.map(\.column) + ["typed_tokens"]

    private static let sums =
        counted
        .map { "coalesce(sum(\(identifier: $0)), 0)::bigint AS \(identifier: $0)" as PostgresSQL }
        .joined(separator: ", ")
}

extension CleanUpStep {
    /// In `cleanup_result`.
    fileprivate var column: String {
        self == .sessionEnded ? "session_ended" : rawValue
    }
}

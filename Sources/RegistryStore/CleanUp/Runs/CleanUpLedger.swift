import PostgresClient
import PushRegistry

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
        return try session.execute(
            PostgresStatement(CleanUpLedgerStatements.begin, process, scope, undoes, maxShare))[0].decode(0)
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

    /// Adds to a run's counts besides installations.
    func count(
        tombstones: Int = 0, partitionsMade: Int = 0, partitionsDropped: Int = 0, historyRemoved: Int = 0, of run: Int32
    ) throws {
        _ = try session.execute(
            PostgresStatement(
                CleanUpLedgerStatements.count, run, Int64(tombstones), Int64(partitionsMade), Int64(partitionsDropped),
                Int64(historyRemoved)))
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
    /// Columns in the order of `CleanUpStep.allCases`.
    init(_ row: PostgresRow, from first: Int) throws {
        self.init()
        for (index, step) in CleanUpStep.allCases.enumerated() { self[step] = try row.decode(first + index) }
    }
}

/// The SQL of the records of runs: `push-registry cleanup` and its `runs` and `undo`. `$1` is the run.
enum CleanUpLedgerStatements {
    static let named = [
        NamedStatement("begin", begin), NamedStatement("addResult", addResult), NamedStatement("count", count),
        NamedStatement("countSteps", countSteps),
        NamedStatement("end", end), NamedStatement("totals", totals), NamedStatement("results", results),
        NamedStatement("runs", runs),
        NamedStatement("lock", serving: "Clean-up: takes the lock that admits one run at a time.", lock),
        NamedStatement("unlock", serving: "Clean-up: releases this lock.", unlock),
        NamedStatement("holder", serving: "Clean-up: describes the run that has the lock, for the message.", holder),
        NamedStatement("interrupt", serving: "Clean-up: ends the records of interrupted runs.", interrupt),
    ]

    private static let now = RegistryClockStatements.now
    private static let lockKey: PostgresSQL = "hashtext('push-registry: clean-up')::bigint"

    static let lock: PostgresStatement = "SELECT pg_try_advisory_lock(\(sql: lockKey))"
    static let unlock: PostgresStatement = "SELECT pg_advisory_unlock(\(sql: lockKey))"

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

    static let interrupt: PostgresStatement =
        "UPDATE cleanup_run SET outcome = 'interrupted', finished_at = \(sql: now) WHERE outcome = 'running'"

    /// `$1` is the process, `$2` the scope, `$3` the undone run, `$4` the breaker's share. A run begins after the run
    /// before it ended, even if the clock stood still.
    static let begin = PreparedSQL(
        serving: "Clean-up: begins the record of a run.",
        """
        INSERT INTO cleanup_run (process, apps, undoes, max_share, started_at)
        SELECT $1, $2, $3, $4, greatest(\(sql: now), max(finished_at) + interval '1 microsecond') FROM cleanup_run
        RETURNING id
        """)

    static let addResult = PreparedSQL(
        serving: "Clean-up (R11): records the counts of the plan for an app.",
        "INSERT INTO cleanup_result (run_id, app_id, active, leaving, refused) VALUES ($1, $2, $3, $4, $5)")

    /// `$1` is the run, `$2` the app, the rest one number for each step.
    static let countSteps = PreparedSQL(
        serving: "Clean-up (R11): adds to the counts of an app.",
        "UPDATE cleanup_result SET \(sql: additions) WHERE run_id = $1 AND app_id = $2")

    private static let additions = CleanUpStep.allCases.enumerated()
        .map { index, step in
            let column = PostgresSQL(identifier: step.column)
            return "\(sql: column) = \(sql: column) + \(sql: PostgresSQL(trusted: "$\(index + 3)"))" as PostgresSQL
        }
        .joined(separator: ", ")

    static let count = PreparedSQL(
        serving: "Clean-up: adds to the counts of a run.",
        """
        UPDATE cleanup_run
        SET tombstones = tombstones + $2, partitions_made = partitions_made + $3,
            partitions_dropped = partitions_dropped + $4, history_removed = history_removed + $5
        WHERE id = $1
        """)

    static let end = PreparedSQL(
        serving: "Clean-up: ends the record of a run.",
        "UPDATE cleanup_run SET outcome = $2, finished_at = greatest(\(sql: now), started_at) WHERE id = $1")

    static let totals = PreparedSQL(
        serving: "Clean-up: reads the counts of a run.",
        "SELECT tombstones, partitions_made, partitions_dropped, history_removed FROM cleanup_run WHERE id = $1")

    static let results = PreparedSQL(
        serving: "Clean-up: reads the results of a run, by app.",
        """
        SELECT a.identifier, r.active, r.leaving, r.refused, \(sql: counts("r")) FROM cleanup_result r
        JOIN app a ON a.id = r.app_id WHERE r.run_id = $1 ORDER BY a.identifier
        """)

    /// `$1` is the number of runs.
    static let runs = PreparedSQL(
        serving: "cleanup runs: lists runs, the newest first.",
        """
        SELECT n.id, n.undoes, n.apps, n.started_at, n.finished_at, n.outcome, t.restored, \(sql: counts("t"))
        FROM cleanup_run n
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(restored), 0)::bigint AS restored, \(sql: sums)
            FROM cleanup_result WHERE run_id = n.id) AS t
        ORDER BY n.id DESC LIMIT $1
        """)

    private static func counts(_ table: String) -> PostgresSQL {
        CleanUpStep.allCases.map { "\(identifier: table).\(identifier: $0.column)" as PostgresSQL }
            .joined(separator: ", ")
    }

    private static let sums = CleanUpStep.allCases
        .map { "coalesce(sum(\(identifier: $0.column)), 0)::bigint AS \(identifier: $0.column)" as PostgresSQL }
        .joined(separator: ", ")
}

extension CleanUpStep {
    /// In `cleanup_result`.
    fileprivate var column: String {
        self == .sessionEnded ? "session_ended" : rawValue
    }
}

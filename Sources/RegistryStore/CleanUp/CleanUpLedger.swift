import PostgresClient
import PushRegistry

/// The records of runs, and the lock that lets one run at a time.
struct CleanUpLedger {
    let session: PostgresSession

    private static let lockKey: PostgresSQL = "hashtext('push-registry: clean-up')::bigint"

    /// Takes the lock for as long as the session lasts.
    ///
    /// - Throws: `CleanUpRefusal.busy`.
    func lock() throws {
        let isLocked: Bool = try session.execute("SELECT pg_try_advisory_lock(\(sql: Self.lockKey))")[0].decode(0)
        guard isLocked else { throw CleanUpRefusal.busy(try holder()) }
    }

    /// Gives the lock back. A session that ends would do so too, but some time after its client has gone.
    func unlock() {
        _ = try? session.execute("SELECT pg_advisory_unlock(\(sql: Self.lockKey))")
    }

    private func holder() throws -> String {
        let rows = try session.execute(
            """
            SELECT coalesce((
                SELECT 'run ' || r.id || ', ' || r.process || ', since ' ||
                    to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                FROM cleanup_run r WHERE r.outcome = 'running' ORDER BY r.id DESC LIMIT 1), 'just starting')
                || coalesce((
                    SELECT ' (session ' || l.pid || ' of PostgreSQL)' FROM pg_locks l
                    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
                        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                        AND ((l.classid::bigint << 32) | l.objid::bigint) = \(sql: Self.lockKey)
                    LIMIT 1), '')
            """)
        return try rows[0].decode(0)
    }

    /// Begins a record. Whoever has the lock knows that no other run is under way: what looks so was cut short.
    ///
    /// - Parameter apps: what the run is limited to; empty: all apps, and history.
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

    /// Adds to what a run did besides installations.
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

    func report(of run: Int32) throws -> CleanUpReport {
        let totals = try session.execute(PostgresStatement(CleanUpLedgerStatements.totals, run))[0]
        let apps = try session.execute(PostgresStatement(CleanUpLedgerStatements.results, run)).map { row in
            CleanUpReport.AppResult(
                app: try row.decode(0), active: try row.decode(1), leaving: try row.decode(2),
                isRefused: try row.decode(3), counts: try CleanUpCounts(row, from: 4))
        }
        return CleanUpReport(
            runID: Int(run), apps: apps, tombstones: try totals.decode(0), partitionsMade: try totals.decode(1),
            partitionsDropped: try totals.decode(2), historyRemoved: try totals.decode(3))
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
    private static let now = RegistryClockStatements.now

    static let interrupt: PostgresStatement =
        "UPDATE cleanup_run SET outcome = 'interrupted', finished_at = \(sql: now) WHERE outcome = 'running'"

    /// Begins a run: `$1` is the process, `$2` the scope, `$3` the run that it undoes, `$4` the breaker's share. It
    /// begins after the run before it ended, also where the clock stood still.
    static let begin = PreparedSQL(
        """
        INSERT INTO cleanup_run (process, apps, undoes, max_share, started_at)
        SELECT $1, $2, $3, $4, greatest(\(sql: now), max(finished_at) + interval '1 microsecond') FROM cleanup_run
        RETURNING id
        """)

    static let addResult = PreparedSQL(
        "INSERT INTO cleanup_result (run_id, app_id, active, leaving, refused) VALUES ($1, $2, $3, $4, $5)")

    static let count = PreparedSQL(
        """
        UPDATE cleanup_run
        SET tombstones = tombstones + $2, partitions_made = partitions_made + $3,
            partitions_dropped = partitions_dropped + $4, history_removed = history_removed + $5
        WHERE id = $1
        """)

    static let end = PreparedSQL(
        "UPDATE cleanup_run SET outcome = $2, finished_at = greatest(\(sql: now), started_at) WHERE id = $1")

    static let totals = PreparedSQL(
        "SELECT tombstones, partitions_made, partitions_dropped, history_removed FROM cleanup_run WHERE id = $1")

    static let results = PreparedSQL(
        """
        SELECT a.identifier, r.active, r.leaving, r.refused, \(sql: counts("r")) FROM cleanup_result r
        JOIN app a ON a.id = r.app_id WHERE r.run_id = $1 ORDER BY a.identifier
        """)

    /// `$1` is how many, the newest first.
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
        CleanUpStep.allCases.map { "\(identifier: table).\(identifier: $0.column)" as PostgresSQL }
            .joined(separator: ", ")
    }

    private static let sums = CleanUpStep.allCases
        .map { "coalesce(sum(\(identifier: $0.column)), 0)::bigint AS \(identifier: $0.column)" as PostgresSQL }
        .joined(separator: ", ")
}

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
    func begin(process: String, undoes: Int32? = nil, maxShare: Double? = nil) throws -> Int32 {
        _ = try session.execute(
            "UPDATE cleanup_run SET outcome = 'interrupted', finished_at = clock_timestamp() WHERE outcome = 'running'")
        return try session.execute(
            """
            INSERT INTO cleanup_run (process, undoes, max_share) VALUES (\(process), \(undoes), \(maxShare)) RETURNING id
            """)[0].decode(0)
    }

    func add(_ app: AppNumber, active: Int, leaving: Int, isRefused: Bool, to run: Int32) throws {
        _ = try session.execute(
            """
            INSERT INTO cleanup_result (run_id, app_id, active, leaving, refused)
            VALUES (\(run), \(app.rawValue), \(active), \(leaving), \(isRefused))
            """)
    }

    /// Adds to what a run did besides installations.
    func count(
        tombstones: Int = 0, partitionsMade: Int = 0, partitionsDropped: Int = 0, historyRemoved: Int = 0, of run: Int32
    ) throws {
        _ = try session.execute(
            """
            UPDATE cleanup_run
            SET tombstones = tombstones + \(tombstones), partitions_made = partitions_made + \(partitionsMade),
                partitions_dropped = partitions_dropped + \(partitionsDropped),
                history_removed = history_removed + \(historyRemoved)
            WHERE id = \(run)
            """)
    }

    func end(_ run: Int32, _ outcome: String) throws {
        _ = try session.execute(
            "UPDATE cleanup_run SET outcome = \(outcome), finished_at = clock_timestamp() WHERE id = \(run)")
    }

    func report(of run: Int32) throws -> CleanUpReport {
        let totals = try session.execute(
            "SELECT tombstones, partitions_made, partitions_dropped, history_removed FROM cleanup_run WHERE id = \(run)"
        )[0]
        let apps = try session.execute(
            """
            SELECT a.identifier, r.active, r.leaving, r.refused, \(sql: Self.counts("r")) FROM cleanup_result r
            JOIN app a ON a.id = r.app_id WHERE r.run_id = \(run) ORDER BY a.identifier
            """
        ).map { row in
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
        try session.execute(
            """
            SELECT n.id, n.undoes, n.started_at, n.finished_at, n.outcome, t.restored, \(sql: Self.counts("t"))
            FROM cleanup_run n
            CROSS JOIN LATERAL (
                SELECT coalesce(sum(restored), 0)::bigint AS restored, \(sql: Self.sums)
                FROM cleanup_result WHERE run_id = n.id) AS t
            ORDER BY n.id DESC LIMIT \(limit)
            """
        ).map { row in
            CleanUpRun(
                id: try row.decode(0), undoes: try row.decode(1),
                startedAt: Timestamp(try row.decode(2, as: PostgresTimestamp.self)),
                finishedAt: try row.decode(3, as: PostgresTimestamp?.self).map { Timestamp($0) },
                outcome: try row.decode(4), counts: try CleanUpCounts(row, from: 6), restored: try row.decode(5))
        }
    }

    private static func counts(_ table: String) -> PostgresSQL {
        CleanUpStep.allCases.map { "\(identifier: table).\(identifier: $0.column)" as PostgresSQL }
            .joined(separator: ", ")
    }

    private static let sums = CleanUpStep.allCases
        .map { "coalesce(sum(\(identifier: $0.column)), 0)::bigint AS \(identifier: $0.column)" as PostgresSQL }
        .joined(separator: ", ")
}

extension CleanUpCounts {
    /// Columns in the order of `CleanUpStep.allCases`.
    init(_ row: PostgresRow, from first: Int) throws {
        self.init()
        for (index, step) in CleanUpStep.allCases.enumerated() { self[step] = try row.decode(first + index) }
    }
}

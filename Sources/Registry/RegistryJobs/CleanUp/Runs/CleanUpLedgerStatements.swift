import PostgresClient
import PushRegistry

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

import PostgresClient
import PushRegistry

/// The SQL that folds deltas into the cube of the roll-up (R13). A background task of each service, the night job and
/// `rebuild-rollup` execute it.
///
/// PostgreSQL plans these statements at each execution: a generic plan would suit only batches of a few deltas.
package enum RollUpStatements {
    /// How long a mark is the newest one. Ten marks are kept, so folded deltas are kept for some ten minutes.
    private static let markInterval: PostgresSQL = "interval '1 minute'"
    static let marksMax = 10

    /// Service, fold; clean-up; rebuild-rollup: lists the apps.
    package static let allApps = PostgresStatement("SELECT id FROM app WHERE deleting_since IS NULL ORDER BY id")

    /// Service, fold: lists the apps to fold.
    ///
    /// - Parameter app: nil for all apps. Citus joins no table with the rows of several apps.
    static func due(_ limits: RollUpFolder.Limits, in app: AppNumber? = nil) -> PostgresStatement {
        let (deltasMax, expiriesMax) = (Int64(limits.deltasMax), Int64(limits.expiriesMax))
        let apps: PostgresSQL =
            app.map { "s.app_id = \($0.rawValue)" } ?? "s.app_id IN (SELECT id FROM app WHERE deleting_since IS NULL)"
        let deltas: PostgresSQL = "SELECT FROM rollup_delta d WHERE d.app_id = s.app_id AND d.transaction_id"
        let expiries: PostgresSQL = "SELECT FROM rollup_expiry e WHERE e.app_id = s.app_id AND e.expires_at <= now()"
        return """
            SELECT s.app_id FROM rollup_state s
            WHERE \(sql: apps) AND (
                s.marked_at NOT BETWEEN now() - \(limits.ageMax / .seconds(1)) * interval '1 second' AND now()
                    AND (EXISTS (\(sql: deltas) >= least(s.marks[1], s.horizon)) OR EXISTS (\(sql: expiries)))
                OR (SELECT count(*) FROM (\(sql: deltas) >= s.horizon LIMIT \(deltasMax)) AS d) >= \(deltasMax)
                OR (SELECT count(*) FROM (\(sql: expiries) LIMIT \(expiriesMax)) AS e) >= \(expiriesMax))
            """
    }

    /// A condition on rollup_state. A clock that was set back delays no mark.
    private static let isMarkDue: PostgresSQL = "marked_at NOT BETWEEN now() - \(sql: markInterval) AND now()"

    /// Runs before `lock`. Returns the oldest running transaction (the statements that follow see all deltas of older
    /// ones), this transaction, and the time.
    package static let moment: PostgresStatement = """
        SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, pg_current_xact_id()::text::bigint,
            now()
        """

    /// Returns no row if another session has the lock.
    static func lock(_ app: AppNumber) -> PostgresStatement {
        """
        SELECT horizon, folded, marks, \(sql: isMarkDue), swept_until FROM rollup_state
        WHERE app_id = \(app.rawValue) FOR UPDATE SKIP LOCKED
        """
    }

    /// For transactions that add rows of an app without `AppRow`: reads the app's row. Without one, the app was
    /// deleted.
    package static let find = PreparedSQL("SELECT app_id FROM rollup_state WHERE app_id = $1")

    /// Runs when the app is created. Without the condition, an INSERT would wait for a session that is updating the
    /// row.
    package static func addState(_ app: AppNumber) -> PostgresStatement {
        """
        INSERT INTO rollup_state (app_id) SELECT \(app.rawValue)
        WHERE NOT EXISTS (SELECT FROM rollup_state WHERE app_id = \(app.rawValue)) ON CONFLICT DO NOTHING
        """
    }

    /// Service, clean-up, rebuild-rollup: allows the memory that a fold needs.
    package static let settings: PostgresStatement = "SET LOCAL work_mem = '64MB'"

    /// Returns the number of deltas of a batch of transactions, and the first transaction behind them. The oldest
    /// transactions come first; a batch has all deltas of its last one.
    static func bound(_ app: AppNumber, from horizon: Int64, to oldest: Int64, batch: Int64) -> PostgresStatement {
        """
        SELECT count(*), CASE WHEN count(*) < \(batch) THEN \(oldest) ELSE max(transaction_id) + 1 END
        FROM (
            SELECT transaction_id FROM rollup_delta
            WHERE app_id = \(app.rawValue) AND transaction_id >= \(horizon) AND transaction_id < \(oldest)
            ORDER BY transaction_id LIMIT \(batch)) AS d
        """
    }

    /// Adds the deltas of these transactions to the cube and to the expiring sessions. Returns their number, and the
    /// positions of rows whose counts are now zero.
    static func fold(_ app: AppNumber, from horizon: Int64, to end: Int64) -> PostgresStatement {
        """
        WITH folded AS MATERIALIZED (
            SELECT topic, cell, expires_at, active, installations, expired FROM rollup_delta
            WHERE app_id = \(app.rawValue) AND transaction_id >= \(horizon) AND transaction_id < \(end)
        ), added AS (
            INSERT INTO rollup_cube AS r (app_id, topic, cell, reachable, active, installations)
            SELECT c.app_id, d.topic, d.cell,
                CASE WHEN \(sql: RollUpLayer.reaches("d.topic")) THEN d.active - d.expired ELSE 0 END,
                CASE WHEN \(sql: RollUpLayer.isOfTokens("d.topic")) THEN 0 ELSE d.active END, d.installations
            FROM (
                SELECT topic, cell, sum_counts(active) AS active, sum_counts(installations) AS installations,
                    sum_counts(expired) AS expired
                FROM folded GROUP BY topic, cell
                HAVING sum_counts(active) <> 0 OR sum_counts(installations) <> 0 OR sum_counts(expired) <> 0) AS d
            JOIN rollup_cell c ON c.app_id = \(app.rawValue) AND c.number = d.cell
            WHERE \(sql: RollUpLayer.has("d.topic"))
            ON CONFLICT (app_id, topic, cell) DO UPDATE
            SET reachable = r.reachable + excluded.reachable, active = r.active + excluded.active,
                installations = r.installations + excluded.installations
            RETURNING ctid, reachable, active, installations
        ), expiry AS (
            INSERT INTO rollup_expiry AS r (app_id, topic, expires_at, cell, active)
            SELECT c.app_id, f.topic, f.expires_at, f.cell, sum_counts(f.active)
            FROM folded f JOIN rollup_cell c ON c.app_id = \(app.rawValue) AND c.number = f.cell
            WHERE f.expires_at IS NOT NULL AND \(sql: RollUpLayer.reaches("f.topic"))
            GROUP BY c.app_id, f.topic, f.expires_at, f.cell HAVING sum_counts(f.active) <> 0
            ON CONFLICT (app_id, expires_at, topic, cell) DO UPDATE SET active = r.active + excluded.active
            RETURNING ctid, active
        )
        SELECT (SELECT count(*) FROM folded),
            ARRAY(SELECT ctid::text FROM added WHERE reachable = 0 AND active = 0 AND installations = 0),
            ARRAY(SELECT ctid::text FROM expiry WHERE active = 0)
        FROM \(sql: state(app))
        """
    }

    /// Service, clean-up (R13): checks whether sessions have expired.
    static func hasExpired(_ app: AppNumber, at time: PostgresTimestamp) -> PostgresStatement {
        "SELECT EXISTS (SELECT FROM rollup_expiry WHERE app_id = \(app.rawValue) AND expires_at <= \(time))"
    }

    /// Moves a batch of expired sessions, the earliest first, into deltas of this transaction. Returns the number of
    /// rows.
    static func sweep(
        _ app: AppNumber, until time: PostgresTimestamp, batch: Int64, by transaction: Int64
    ) -> PostgresStatement {
        """
        WITH swept AS (
            DELETE FROM rollup_expiry WHERE app_id = \(app.rawValue) AND ctid = ANY (ARRAY(
                SELECT ctid FROM rollup_expiry WHERE app_id = \(app.rawValue) AND expires_at <= \(time)
                ORDER BY expires_at LIMIT \(batch)))
            RETURNING app_id, topic, cell, active
        ), appended AS (
            INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, active, installations, expired)
            SELECT state.app_id, \(transaction)::bigint, s.topic, s.cell, 0, 0, sum_counts(s.active)
            FROM \(sql: state(app)) JOIN swept s ON s.app_id = state.app_id
            GROUP BY state.app_id, s.topic, s.cell HAVING sum_counts(s.active) <> 0
        )
        SELECT (SELECT count(*) FROM swept) FROM \(sql: state(app))
        """
    }

    /// - Parameter rows: positions that `fold` returned.
    static func remove(_ rows: [String], _ app: AppNumber) -> PostgresStatement {
        """
        DELETE FROM rollup_cube WHERE app_id = \(app.rawValue) AND ctid = ANY (\(rows)::text[]::tid[])
            AND reachable = 0 AND active = 0 AND installations = 0
        """
    }

    /// Service, clean-up (R13): deletes expiries whose count is zero.
    static func removeExpiries(_ rows: [String], _ app: AppNumber) -> PostgresStatement {
        """
        DELETE FROM rollup_expiry
        WHERE app_id = \(app.rawValue) AND ctid = ANY (\(rows)::text[]::tid[]) AND active = 0
        """
    }

    /// - Parameters:
    ///   - isMarked: whether `marks` has a new one.
    ///   - sweptUntil: if a sweep follows, its time. Afterwards, audiences use no earlier one.
    static func setState(
        _ app: AppNumber, horizon: Int64, folded: Int64, marks: [Int64], isMarked: Bool,
        sweptUntil: PostgresTimestamp?
    ) -> PostgresStatement {
        let mark: PostgresSQL = isMarked ? ", marked_at = now()" : ""
        return """
            UPDATE rollup_state SET horizon = \(horizon), folded = \(folded), marks = \(marks)\(sql: mark),
                swept_until = coalesce(\(sweptUntil), swept_until)
            WHERE app_id = \(app.rawValue)
            """
    }

    /// Service, clean-up (R13): deletes deltas that were folded ten minutes ago.
    static func removeDeltas(_ app: AppNumber, from first: Int64, to mark: Int64) -> PostgresStatement {
        """
        DELETE FROM rollup_delta
        WHERE app_id = \(app.rawValue) AND transaction_id >= \(first) AND transaction_id < \(mark)
        """
    }

    /// Autovacuum would run only once a minute.
    static let vacuum = PostgresStatement("VACUUM rollup_delta, rollup_expiry").unprepared()
}

extension RollUpStatements {
    /// A FROM item of one row, which the transaction has locked. Every part of a statement joins it: else Citus may
    /// execute the part on any node, which may be away.
    private static func state(_ app: AppNumber) -> PostgresSQL {
        "(SELECT app_id FROM rollup_state WHERE app_id = \(app.rawValue)) AS state"
    }
}

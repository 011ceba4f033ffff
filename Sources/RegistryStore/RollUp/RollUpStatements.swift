import PostgresClient
import PushRegistry

/// The SQL that folds deltas into the levels: a background task of each service, the night job and `rebuild-rollup`
/// (R13).
///
/// Statements are planned anew each time: a plan for any batch is one for ten deltas.
enum RollUpStatements {
    /// An expression: deltas of transactions before it are folded. One that lies in the future is of the database that
    /// was dumped, and means nothing here.
    static func horizon(of app: AppNumber) -> PostgresSQL {
        """
        coalesce((SELECT horizon FROM rollup_state WHERE app_id = \(app.rawValue) \
        AND horizon <= pg_snapshot_xmax(pg_current_snapshot())::text::bigint), 0)
        """
    }

    /// Background task: each app with something to do, how many deltas and expired sessions wait (of each, at most so
    /// many are counted), and whether sessions have expired.
    static func waiting(countMax: Int64) -> PostgresStatement {
        """
        SELECT id, deltas + expiries, expiries > 0
        FROM (
            SELECT a.id, (
                SELECT count(*) FROM (
                    SELECT FROM rollup_delta d
                    WHERE d.app_id = a.id AND d.transaction_id >= coalesce((
                        SELECT s.horizon FROM rollup_state s
                        WHERE s.app_id = a.id
                            AND s.horizon <= pg_snapshot_xmax(pg_current_snapshot())::text::bigint), 0)
                    LIMIT \(countMax)) AS d) AS deltas, (
                SELECT count(*) FROM (
                    SELECT FROM rollup_expiry e WHERE e.app_id = a.id AND e.expires_at <= now()
                    LIMIT \(countMax)) AS e) AS expiries
            FROM app a) AS w
        WHERE deltas + expiries > 0
        """
    }

    /// Fold: locks the app; no row where somebody else has it. Answers the horizon, the oldest transaction that runs
    /// (all deltas of older ones are visible to the statements that follow), and the time.
    static func lock(_ app: AppNumber) -> PostgresStatement {
        """
        SELECT CASE WHEN horizon <= pg_snapshot_xmax(pg_current_snapshot())::text::bigint THEN horizon ELSE 0 END,
            pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
            (SELECT greatest(latest, now()) FROM registry_clock)
        FROM rollup_state WHERE app_id = \(app.rawValue) FOR UPDATE SKIP LOCKED
        """
    }

    /// Rebuild: locks the app, and waits for whoever has it.
    static func lockWaiting(_ app: AppNumber) -> PostgresStatement {
        "SELECT FROM rollup_state WHERE app_id = \(app.rawValue) FOR UPDATE"
    }

    /// Fold and rebuild: what is locked. It goes ahead of their transaction, so that nobody waits for the first fold.
    /// An INSERT alone would wait for whoever is updating the row.
    static func addState(_ app: AppNumber) -> PostgresStatement {
        """
        INSERT INTO rollup_state (app_id) SELECT \(app.rawValue)
        WHERE NOT EXISTS (SELECT FROM rollup_state WHERE app_id = \(app.rawValue)) ON CONFLICT DO NOTHING
        """
    }

    static let settings: PostgresStatement = "SET LOCAL work_mem = '64MB'"

    /// Fold: removes a batch of deltas, the oldest transactions' first, and adds them to all levels and to the expiring
    /// sessions. Answers how many, the last transaction, and where rows are that count nothing now.
    static func fold(_ app: AppNumber, from horizon: Int64, batch: Int64) -> PostgresStatement {
        let definitions: [PostgresSQL] = [
            """
            folded AS (
                DELETE FROM rollup_delta WHERE app_id = \(app.rawValue) AND ctid = ANY (ARRAY(
                    SELECT ctid FROM rollup_delta WHERE app_id = \(app.rawValue) AND transaction_id >= \(horizon)
                    ORDER BY transaction_id LIMIT \(batch)))
                RETURNING transaction_id, cell, expires_at, active, installations)
            """,
            """
            change AS MATERIALIZED (
                SELECT c.*, c.number AS cell, CASE WHEN c.is_admitted THEN d.active ELSE 0 END AS reachable, d.active,
                    d.installations
                FROM (
                    SELECT cell, sum_counts(active) AS active, sum_counts(installations) AS installations
                    FROM folded GROUP BY cell
                    HAVING sum_counts(active) <> 0 OR sum_counts(installations) <> 0) AS d
                JOIN rollup_cell c ON c.app_id = \(app.rawValue) AND c.number = d.cell)
            """,
            """
            expiry AS (
                INSERT INTO rollup_expiry AS r (app_id, expires_at, cell, active)
                SELECT \(app.rawValue), f.expires_at, f.cell, sum_counts(f.active)
                FROM folded f JOIN rollup_cell c ON c.app_id = \(app.rawValue) AND c.number = f.cell
                WHERE f.expires_at IS NOT NULL AND c.is_admitted
                GROUP BY f.expires_at, f.cell HAVING sum_counts(f.active) <> 0
                ON CONFLICT (app_id, expires_at, cell) DO UPDATE SET active = r.active + excluded.active
                RETURNING ctid, active)
            """,
        ]
        return statement(
            app, definitions,
            [
                "(SELECT count(*) FROM folded)", "(SELECT max(transaction_id) FROM folded)",
                "ARRAY(SELECT ctid::text FROM expiry WHERE active = 0)",
            ])
    }

    /// Fold: whether sessions had expired at a time.
    static func hasExpired(_ app: AppNumber, at time: PostgresTimestamp) -> PostgresStatement {
        "SELECT EXISTS (SELECT FROM rollup_expiry WHERE app_id = \(app.rawValue) AND expires_at <= \(time))"
    }

    /// Fold: readers see no time before this from now on.
    static func advanceClock(to time: PostgresTimestamp) -> PostgresStatement {
        "UPDATE registry_clock SET latest = \(time) WHERE latest < \(time)"
    }

    /// Fold: a batch of expired sessions is reachable no longer, the earliest first. Answers how many rows that were,
    /// and where rows are that count nothing now.
    static func sweep(_ app: AppNumber, until time: PostgresTimestamp, batch: Int64) -> PostgresStatement {
        let definitions: [PostgresSQL] = [
            """
            swept AS (
                DELETE FROM rollup_expiry WHERE app_id = \(app.rawValue) AND ctid = ANY (ARRAY(
                    SELECT ctid FROM rollup_expiry WHERE app_id = \(app.rawValue) AND expires_at <= \(time)
                    ORDER BY expires_at LIMIT \(batch)))
                RETURNING cell, active)
            """,
            """
            change AS MATERIALIZED (
                SELECT c.*, c.number AS cell, -s.active AS reachable, 0::bigint AS active, 0::bigint AS installations
                FROM (
                    SELECT cell, sum_counts(active) AS active FROM swept GROUP BY cell
                    HAVING sum_counts(active) <> 0) AS s
                JOIN rollup_cell c ON c.app_id = \(app.rawValue) AND c.number = s.cell)
            """,
        ]
        return statement(app, definitions, ["(SELECT count(*) FROM swept)"])
    }

    /// Fold: what `fold` and `sweep` found to count nothing.
    static func remove(_ rows: [String], of level: RollUpLevel, _ app: AppNumber) -> PostgresStatement {
        PostgresStatement(
            """
            DELETE FROM \(sql: level.table) WHERE app_id = \(app.rawValue) AND ctid = ANY (\(rows)::text[]::tid[])
                AND reachable = 0 AND active = 0 AND installations = 0
            """
        ).unprepared()
    }

    static func removeExpiries(_ rows: [String], _ app: AppNumber) -> PostgresStatement {
        PostgresStatement(
            """
            DELETE FROM rollup_expiry
            WHERE app_id = \(app.rawValue) AND ctid = ANY (\(rows)::text[]::tid[]) AND active = 0
            """
        ).unprepared()
    }

    static func setHorizon(_ app: AppNumber, _ horizon: Int64) -> PostgresStatement {
        "UPDATE rollup_state SET horizon = \(horizon) WHERE app_id = \(app.rawValue)"
    }

    /// Background task: makes the space of folded deltas usable again. Autovacuum would come once a minute.
    static let vacuum = PostgresStatement("VACUUM rollup_delta, rollup_expiry").unprepared()
}

// MARK: - Levels

extension RollUpStatements {
    /// Adds `change`, rows of cells with three counts, to all levels.
    private static func statement(
        _ app: AppNumber, _ definitions: [PostgresSQL], _ answers: [PostgresSQL]
    ) -> PostgresStatement {
        let parts = definitions + RollUpLevel.all.flatMap { add(to: $0, app) }
        let empty = RollUpLevel.all.map(emptyRows)
        return PostgresStatement(
            """
            WITH \(sql: parts.joined(separator: ", "))
            SELECT \(sql: (answers + empty).joined(separator: ", "))
            """
        ).unprepared()
    }

    /// Definitions that add the rows of `change`, summed, to a level.
    static func add(to level: RollUpLevel, _ app: AppNumber) -> [PostgresSQL] {
        let (columns, sums) = (level.columns.joined(separator: ", "), name("sum", level))
        let summed: PostgresSQL = """
            \(sql: sums) AS MATERIALIZED (
                SELECT \(sql: columns), sum_counts(reachable) AS reachable, sum_counts(active) AS active,
                    sum_counts(installations) AS installations
                FROM change GROUP BY \(sql: columns)
                HAVING sum_counts(reachable) <> 0 OR sum_counts(active) <> 0 OR sum_counts(installations) <> 0)
            """
        let added: PostgresSQL = """
            \(sql: name("added", level)) AS (
                INSERT INTO \(sql: level.table) AS r (app_id, \(sql: columns), reachable, active, installations)
                SELECT \(app.rawValue), \(sql: columns), reachable, active, installations FROM \(sql: sums)
                ON CONFLICT (app_id, \(sql: level.key.joined(separator: ", "))) DO UPDATE
                SET reachable = r.reachable + excluded.reachable, active = r.active + excluded.active,
                    installations = r.installations + excluded.installations
                RETURNING ctid, reachable, active, installations)
            """
        return level.isRanked ? [summed, added, resize(level, app)] : [summed, added]
    }

    /// The statement's snapshot has the rows as they were before.
    private static func resize(_ level: RollUpLevel, _ app: AppNumber) -> PostgresSQL {
        let same = level.key.map { "o.\(sql: $0) = s.\(sql: $0)" as PostgresSQL }.joined(separator: " AND ")
        let step: PostgresSQL = """
            sum((coalesce(o.reachable, 0) + s.reachable > 0)::integer - (coalesce(o.reachable, 0) > 0)::integer)
            """
        return """
            \(sql: name("size", level)) AS (
                INSERT INTO rollup_size AS r (app_id, level, reachable)
                SELECT \(app.rawValue), \(level.name), \(sql: step)
                FROM \(sql: name("sum", level)) s LEFT JOIN \(sql: level.table) o ON o.app_id = \(app.rawValue)
                    AND \(sql: same)
                HAVING \(sql: step) <> 0
                ON CONFLICT (app_id, level) DO UPDATE SET reachable = r.reachable + excluded.reachable)
            """
    }

    /// An expression: where rows are that count nothing now.
    static func emptyRows(of level: RollUpLevel) -> PostgresSQL {
        """
        ARRAY(SELECT ctid::text FROM \(sql: name("added", level)) \
        WHERE reachable = 0 AND active = 0 AND installations = 0)
        """
    }

    private static func name(_ part: String, _ level: RollUpLevel) -> PostgresSQL {
        PostgresSQL(identifier: "\(part)_\(level.name)")
    }
}

import PostgresClient
import PushRegistry

/// The SQL that folds deltas into the levels of the roll-up (R13). A background task of each service, the night job and
/// `rebuild-rollup` execute it.
///
/// PostgreSQL plans these statements at each execution: a generic plan would suit only batches of a few deltas.
enum RollUpStatements {
    static let named = [
        NamedStatement(
            "waiting", serving: "Service, fold (R13): finds apps with deltas and expired sessions.",
            waiting(countMax: 1)),
        NamedStatement(
            "waiting.app", serving: "Service, fold, on Citus (R13): counts an app's deltas and expired sessions.",
            waiting(in: NamedStatement.app, countMax: 1)),
        NamedStatement("allApps", serving: "Service, fold; clean-up; rebuild-rollup: lists the apps.", allApps),
        NamedStatement(
            "addState", serving: "PUT /v1/apps/{app}, distribute, every fold (R13): adds the row that a fold locks.",
            addState(NamedStatement.app)),
        NamedStatement(
            "settings", serving: "Service, clean-up, rebuild-rollup: allows the memory that a fold needs.", settings),
        NamedStatement(
            "moment", serving: "Service, clean-up (R13): reads the time, and which transactions have ended.", moment),
        NamedStatement(
            "lock", serving: "Service, clean-up (R13): locks an app's roll-up, or skips it.", lock(NamedStatement.app)),
        NamedStatement(
            "lockWaiting", serving: "rebuild-rollup (R13): locks an app's roll-up, and waits for a fold.",
            lockWaiting(NamedStatement.app)),
        NamedStatement(
            "fold", serving: "Service, clean-up (R13): adds a batch of deltas to all levels.",
            fold(NamedStatement.app, from: 0, batch: 1)),
        NamedStatement(
            "hasExpired", serving: "Service, clean-up (R13): checks whether sessions have expired.",
            hasExpired(NamedStatement.app, at: NamedStatement.time)),
        NamedStatement(
            "advanceClock", serving: "Service, clean-up (R13): stores the time up to which sessions are swept.",
            advanceClock(to: NamedStatement.time)),
        NamedStatement(
            "sweep", serving: "Service, clean-up (R7, R13): removes expired sessions from the reachable counts.",
            sweep(NamedStatement.app, until: NamedStatement.time, batch: 1)),
        NamedStatement(
            "remove", serving: "Service, clean-up (R13): deletes rows of a level whose counts are zero.",
            remove([], of: .version, NamedStatement.app)),
        NamedStatement(
            "removeExpiries", serving: "Service, clean-up (R13): deletes expiries whose count is zero.",
            removeExpiries([], NamedStatement.app)),
        NamedStatement(
            "setHorizon", serving: "Service, clean-up (R13): stores up to which transaction deltas are folded.",
            setHorizon(NamedStatement.app, 0)),
        NamedStatement("vacuum", serving: "Service, fold: vacuums the tables of folded deltas.", vacuum),
    ]

    /// An expression: deltas of transactions before it are folded. A horizon in the future comes from a database that
    /// was dumped, and counts as 0.
    static func horizon(of app: AppNumber) -> PostgresSQL { horizon(of: "\(app.rawValue)") }

    private static func horizon(of app: PostgresSQL) -> PostgresSQL {
        """
        coalesce((SELECT horizon FROM rollup_state WHERE app_id = \(sql: app) \
        AND horizon <= pg_snapshot_xmax(pg_current_snapshot())::text::bigint), 0)
        """
    }

    static let allApps = PostgresStatement("SELECT id FROM app ORDER BY id")

    /// Returns each app with work, and its numbers of waiting deltas and of expired sessions. Of each, at most
    /// `countMax` are counted.
    static func waiting(countMax: Int64) -> PostgresStatement {
        """
        SELECT id, deltas, expiries
        FROM app CROSS JOIN LATERAL (\(sql: waiting(in: "id", countMax: countMax))) AS w (deltas, expiries)
        WHERE deltas + expiries > 0
        """
    }

    /// The same of one app: Citus joins no table with the rows of several apps.
    static func waiting(in app: AppNumber, countMax: Int64) -> PostgresStatement {
        "SELECT \(app.rawValue), w.* FROM (\(sql: waiting(in: "\(app.rawValue)", countMax: countMax))) AS w"
    }

    private static func waiting(in app: PostgresSQL, countMax: Int64) -> PostgresSQL {
        """
        SELECT (
                SELECT count(*) FROM (
                    SELECT FROM rollup_delta
                    WHERE app_id = \(sql: app) AND transaction_id >= (\(sql: horizon(of: app)))
                    LIMIT \(countMax)) AS d) AS deltas, (
                SELECT count(*) FROM (
                    SELECT FROM rollup_expiry WHERE app_id = \(sql: app) AND expires_at <= now()
                    LIMIT \(countMax)) AS e) AS expiries
        """
    }

    /// Runs before `lock`. Returns the oldest running transaction (the statements that follow see all deltas of older
    /// ones), the first one that has not begun, and the time.
    static let moment: PostgresStatement = """
        SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
            pg_snapshot_xmax(pg_current_snapshot())::text::bigint, greatest(latest, now())
        FROM registry_clock
        """

    /// Returns the horizon; no row if another session has the lock.
    static func lock(_ app: AppNumber) -> PostgresStatement {
        "SELECT horizon FROM rollup_state WHERE app_id = \(app.rawValue) FOR UPDATE SKIP LOCKED"
    }

    static func lockWaiting(_ app: AppNumber) -> PostgresStatement {
        "SELECT FROM rollup_state WHERE app_id = \(app.rawValue) FOR UPDATE"
    }

    /// Runs when the app is created, and before each fold. Without the condition, an INSERT would wait for a session
    /// that is updating the row.
    static func addState(_ app: AppNumber) -> PostgresStatement {
        """
        INSERT INTO rollup_state (app_id) SELECT \(app.rawValue)
        WHERE NOT EXISTS (SELECT FROM rollup_state WHERE app_id = \(app.rawValue)) ON CONFLICT DO NOTHING
        """
    }

    static let settings: PostgresStatement = "SET LOCAL work_mem = '64MB'"

    /// Removes a batch of deltas, the oldest transactions first, and adds them to all levels and to the expiring
    /// sessions. Returns the number of deltas, the last transaction, and the positions of rows whose counts are now
    /// zero.
    static func fold(_ app: AppNumber, from horizon: Int64, batch: Int64) -> PostgresStatement {
        PostgresStatement(foldSQL(app, from: horizon, batch: batch)).unprepared()
    }

    static func foldSQL(_ app: AppNumber, from horizon: Int64, batch: Int64) -> PostgresSQL {
        let definitions: [PostgresSQL] = [
            """
            folded AS (
                DELETE FROM rollup_delta WHERE app_id = \(app.rawValue) AND ctid = ANY (ARRAY(
                    SELECT ctid FROM rollup_delta WHERE app_id = \(app.rawValue) AND transaction_id >= \(horizon)
                    ORDER BY transaction_id LIMIT \(batch)))
                RETURNING transaction_id, topic, cell, expires_at, active, installations)
            """,
            """
            change AS MATERIALIZED (
                SELECT c.*, c.number AS cell, d.topic, CASE WHEN c.is_admitted THEN d.active ELSE 0 END AS reachable,
                    d.active, d.installations
                FROM (
                    SELECT topic, cell, sum_counts(active) AS active, sum_counts(installations) AS installations
                    FROM folded GROUP BY topic, cell
                    HAVING sum_counts(active) <> 0 OR sum_counts(installations) <> 0) AS d
                JOIN rollup_cell c ON c.app_id = \(app.rawValue) AND c.number = d.cell)
            """,
            """
            expiry AS (
                INSERT INTO rollup_expiry AS r (app_id, topic, expires_at, cell, active)
                SELECT c.app_id, f.topic, f.expires_at, f.cell, sum_counts(f.active)
                FROM folded f JOIN rollup_cell c ON c.app_id = \(app.rawValue) AND c.number = f.cell
                WHERE f.expires_at IS NOT NULL AND c.is_admitted
                GROUP BY c.app_id, f.topic, f.expires_at, f.cell HAVING sum_counts(f.active) <> 0
                ON CONFLICT (app_id, expires_at, topic, cell) DO UPDATE SET active = r.active + excluded.active
                RETURNING ctid, active)
            """,
        ]
        return adding(
            app, definitions,
            [
                "(SELECT count(*) FROM folded)", "(SELECT max(transaction_id) FROM folded)",
                "ARRAY(SELECT ctid::text FROM expiry WHERE active = 0)",
            ])
    }

    static func hasExpired(_ app: AppNumber, at time: PostgresTimestamp) -> PostgresStatement {
        "SELECT EXISTS (SELECT FROM rollup_expiry WHERE app_id = \(app.rawValue) AND expires_at <= \(time))"
    }

    /// Afterwards, audiences use no earlier time.
    static func advanceClock(to time: PostgresTimestamp) -> PostgresStatement {
        "UPDATE registry_clock SET latest = \(time) WHERE latest < \(time)"
    }

    /// Removes a batch of expired sessions, the earliest first. Returns the number of removed rows, and the positions
    /// of rows whose counts are now zero.
    static func sweep(_ app: AppNumber, until time: PostgresTimestamp, batch: Int64) -> PostgresStatement {
        let definitions: [PostgresSQL] = [
            """
            swept AS (
                DELETE FROM rollup_expiry WHERE app_id = \(app.rawValue) AND ctid = ANY (ARRAY(
                    SELECT ctid FROM rollup_expiry WHERE app_id = \(app.rawValue) AND expires_at <= \(time)
                    ORDER BY expires_at LIMIT \(batch)))
                RETURNING topic, cell, active)
            """,
            """
            change AS MATERIALIZED (
                SELECT c.*, c.number AS cell, s.topic, -s.active AS reachable, 0::bigint AS active,
                    0::bigint AS installations
                FROM (
                    SELECT topic, cell, sum_counts(active) AS active FROM swept GROUP BY topic, cell
                    HAVING sum_counts(active) <> 0) AS s
                JOIN rollup_cell c ON c.app_id = \(app.rawValue) AND c.number = s.cell)
            """,
        ]
        return PostgresStatement(adding(app, definitions, ["(SELECT count(*) FROM swept)"])).unprepared()
    }

    /// - Parameter rows: positions that `fold` and `sweep` returned.
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

    /// Autovacuum would run only once a minute.
    static let vacuum = PostgresStatement("VACUUM rollup_delta, rollup_expiry").unprepared()
}

// MARK: - Levels

extension RollUpStatements {
    /// A FROM item of one row, which the transaction has locked. A part that uses only rows of other parts joins it, so
    /// that Citus executes the part on the app's node. Otherwise Citus chooses any node, which may be away.
    private static func state(_ app: AppNumber) -> PostgresSQL {
        "(SELECT app_id FROM rollup_state WHERE app_id = \(app.rawValue)) AS state"
    }

    /// A FROM item named `p`: the rows of another part, joined with the app's state. They depend on the state, and
    /// OFFSET 0 keeps the planner from changing that: it would read the state again for each row.
    private static func rows(_ app: AppNumber, of part: PostgresSQL, _ filter: PostgresSQL = "true") -> PostgresSQL {
        """
        \(sql: state(app)) CROSS JOIN LATERAL (
            SELECT * FROM \(sql: part) WHERE state.app_id IS NOT NULL AND \(sql: filter) OFFSET 0) AS p
        """
    }

    /// Adds `change`, rows of cells with three counts, to all levels.
    private static func adding(
        _ app: AppNumber, _ definitions: [PostgresSQL], _ results: [PostgresSQL]
    ) -> PostgresSQL {
        let parts = definitions + RollUpLevel.all.flatMap { add(to: $0, app) }
        let empty = RollUpLevel.all.map(emptyRows)
        return """
            WITH \(sql: parts.joined(separator: ", "))
            SELECT \(sql: (results + empty).joined(separator: ", ")) FROM \(sql: state(app))
            """
    }

    /// Definitions that add the sums of the rows of `change` to a level.
    static func add(to level: RollUpLevel, _ app: AppNumber) -> [PostgresSQL] {
        let (columns, sums) = (level.columns.joined(separator: ", "), name("sum", level))
        let summed: PostgresSQL = """
            \(sql: sums) AS MATERIALIZED (
                SELECT \(sql: columns), sum_counts(reachable) AS reachable, sum_counts(active) AS active,
                    sum_counts(installations) AS installations
                FROM \(sql: rows(app, of: "change", level.changes)) GROUP BY \(sql: columns)
                HAVING sum_counts(reachable) <> 0 OR sum_counts(active) <> 0 OR sum_counts(installations) <> 0)
            """
        let added: PostgresSQL = """
            \(sql: name("added", level)) AS (
                INSERT INTO \(sql: level.table) AS r (app_id, \(sql: columns), reachable, active, installations)
                SELECT state.app_id, \(sql: columns), p.reachable, p.active, p.installations
                FROM \(sql: rows(app, of: sums))
                ON CONFLICT (app_id, \(sql: level.key.joined(separator: ", "))) DO UPDATE
                SET reachable = r.reachable + excluded.reachable, active = r.active + excluded.active,
                    installations = r.installations + excluded.installations
                RETURNING ctid, \(sql: columns), r.reachable, r.active, r.installations)
            """
        return level.isRanked ? [summed, added, resize(level, app)] : [summed, added]
    }

    /// Counts rows that began or ceased to count a reachable installation. The rows and their steps are grouped and not
    /// joined: the planner joins parts of a statement in a nested loop, which took most of the time of a large fold.
    private static func resize(_ level: RollUpLevel, _ app: AppNumber) -> PostgresSQL {
        let key = level.key.joined(separator: ", ")
        let step: PostgresSQL = "sum((reachable > 0)::integer - (reachable - step > 0)::integer)"
        return """
            \(sql: name("size", level)) AS (
                INSERT INTO rollup_size AS r (app_id, level, reachable)
                SELECT state.app_id, \(level.name), \(sql: step)
                FROM (
                    SELECT sum_counts(reachable) AS reachable, sum_counts(step) AS step
                    FROM (
                        SELECT \(sql: key), reachable, 0::bigint AS step FROM \(sql: name("added", level))
                        UNION ALL
                        SELECT \(sql: key), 0, reachable FROM \(sql: name("sum", level))) AS a
                    GROUP BY \(sql: key)) AS a
                    CROSS JOIN \(sql: state(app))
                GROUP BY state.app_id HAVING \(sql: step) <> 0
                ON CONFLICT (app_id, level) DO UPDATE SET reachable = r.reachable + excluded.reachable)
            """
    }

    /// An expression: the positions of rows whose counts are now zero.
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

import PostgresClient
import PushRegistry
import RegistryStore

/// Corrects the roll-up by a recount of the installations, while registrations continue.
///
/// It empties no table, and no writer waits for more than a batch. It compares counts and installations in one snapshot
/// and appends the differences as deltas, which add up with those of concurrent transactions. An interrupted rebuild
/// can be run again.
public struct RollUpRebuild: Sendable {
    public enum Step: Sendable {
        /// Installations get the cells that fit them, and are counted.
        case recounting
        /// Folding corrections and other pending deltas: the number so far, and of all.
        case folding(Int, of: Int)
    }

    public struct Report: Sendable {
        /// Cells of the cube that were wrong.
        public fileprivate(set) var cells = 0
        /// Installations that had no cell, or a wrong one.
        public fileprivate(set) var installations = 0
        /// Deltas that were folded, corrections included.
        public fileprivate(set) var folded = 0
    }

    private let configuration: PostgresConfiguration

    public init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
    }

    /// - Parameter progress: called at the beginning of each step, for each app, on another thread.
    /// - Throws: `PostgresError`; `cancelled` between two steps if the task is cancelled.
    public func run(progress: @escaping @Sendable (Step) -> Void = { _ in }) async throws -> Report {
        try await PostgresSession.withSession(configuration) { session in
            var report = Report()
            for row in try session.execute(RollUpStatements.allApps) {
                try Self.rebuild(AppNumber(try row.decode(0)), in: session, &report, progress)
            }
            return report
        }
    }

    /// An app that is being deleted is left alone, also if it was listed before.
    static func rebuild(
        _ app: AppNumber, in session: PostgresSession, _ report: inout Report, _ progress: (Step) -> Void
    ) throws {
        progress(.recounting)
        let isPresent = try session.withTransaction {
            guard try !session.execute(RollUpRebuildStatements.keep(app)).isEmpty else { return false }
            _ = try session.execute(RollUpStatements.addState(app))
            return true
        }
        guard isPresent else { return }
        report.installations += try assignCells(of: app, in: session)
        report.cells += try session.execute(RollUpRebuildStatements.removeUnreachable(app)).affectedRows
        report.cells += try recount(app, in: session)
        try session.checkCancellation()
        report.folded += try fold(app, in: session, progress)
        // Cubes in memory may be of the wrong counts, or not: the corrections fit only those of the database.
        _ = try session.execute(RollUpRebuildStatements.renew(app))
    }

    private static func assignCells(of app: AppNumber, in session: PostgresSession) throws -> Int {
        try RollUpCellAssignment(app, leavesOverflow: true).steps.runBlocking { unit in
            try session.checkCancellation()
            return try unit.map(session.execute)
        }
    }

    private static func recount(_ app: AppNumber, in session: PostgresSession) throws -> Int {
        try session.withTransaction {
            try session.run(script: RollUpRebuildStatements.snapshot)
            _ = try session.execute(RollUpStatements.settings)
            let time: PostgresTimestamp = try session.execute(RollUpRebuildStatements.time(of: app))[0].decode(0)
            let append = RollUpRebuildStatements.appendCorrections(app, at: time).unprepared()
            return try session.execute(append)[0].decode(1)
        }
    }

    /// Folds as much as is pending at the beginning; another process may fold a part of it.
    private static func fold(
        _ app: AppNumber, in session: PostgresSession, _ progress: (Step) -> Void
    ) throws -> Int {
        let pending: Int = try session.execute(RollUpRebuildStatements.pending(of: app))[0].decode(0)
        var folded = 0
        while folded < pending {
            progress(.folding(folded, of: pending))
            guard let outcome = try RollUpFold.run(app, in: session), outcome.deltas > 0 else { break }
            folded += outcome.deltas
            try session.checkCancellation()
        }
        return folded
    }
}

/// The SQL of `rebuild-rollup`, and the parts that `verify` shares (R13).
enum RollUpRebuildStatements {
    /// rebuild-rollup (R13): keeps the app's deletion from beginning. Returns no row if it has begun.
    static func keep(_ app: AppNumber) -> PostgresStatement {
        "SELECT FROM app WHERE id = \(app.rawValue) AND deleting_since IS NULL FOR SHARE"
    }

    /// rebuild-rollup (R13): counts deltas that are not folded.
    static func pending(of app: AppNumber) -> PostgresStatement {
        """
        SELECT count(*) FROM rollup_delta WHERE app_id = \(app.rawValue)
            AND transaction_id >= (SELECT horizon FROM rollup_state WHERE app_id = \(app.rawValue))
        """
    }

    /// rebuild-rollup (R13): lets services read the cube anew.
    static func renew(_ app: AppNumber) -> PostgresStatement {
        "UPDATE rollup_state SET version = version + 1 WHERE app_id = \(app.rawValue)"
    }

    /// Folds add sessions of admitted cells only, so no delta corrects these rows.
    static func removeUnreachable(_ app: AppNumber) -> PostgresStatement {
        """
        DELETE FROM rollup_expiry e WHERE app_id = \(app.rawValue) AND NOT EXISTS (
            SELECT FROM rollup_cell c
            WHERE c.app_id = \(app.rawValue) AND c.number = e.cell AND \(sql: RollUpLayer.reaches("e.topic")))
        """
    }

    /// A SELECT: the differences between a recount and the roll-up (positive where the roll-up counts too few), by app,
    /// topic, cell, and expiry of the sessions that expire after `time`. It reads all installations.
    ///
    /// `later` counts active installations of admitted cells whose session expires then. `reachable` counts those that
    /// are not expired; of other cells, it counts the active ones. A layer of typed tokens counts those that are not
    /// expired.
    private static func drift(where app: PostgresSQL, at time: PostgresSQL) -> PostgresSQL {
        """
        SELECT d.app_id, d.topic, d.cell, d.later_at, sum(d.later) AS later,
            sum(CASE WHEN \(sql: RollUpLayer.reaches("d.topic")) THEN d.reachable ELSE d.active END) AS reachable,
            sum(CASE WHEN \(sql: RollUpLayer.isOfTokens("d.topic")) THEN d.reachable ELSE d.active END) AS active,
            sum(d.installations) AS installations
        FROM (
            SELECT app_id, topic, cell, later_at, sum(CASE WHEN later_at IS NULL THEN 0 ELSE active END) AS later,
                sum(reachable) AS reachable, sum(active) AS active, sum(installations) AS installations
            FROM (
                SELECT i.app_id, 0 AS topic, \(sql: recounted(in: "installation i", at: time, where: app))
                UNION ALL
                SELECT i.app_id, i.topic, \(sql: recounted(in: chosen, at: time, where: app))
                UNION ALL
                SELECT i.app_id, i.topic, i.cell, CASE WHEN i.expires_at > t.time THEN i.expires_at END,
                    count(*), count(*), 0
                FROM \(sql: RollUpLayer.handedOut) CROSS JOIN (SELECT \(sql: time) AS time) AS t
                WHERE \(sql: app) AND coalesce(i.expires_at > t.time, true)
                GROUP BY 1, 2, 3, 4
                UNION ALL
                SELECT d.app_id, d.topic, d.cell, CASE WHEN d.expires_at > t.time THEN d.expires_at END, -sum(d.active),
                    -sum(CASE WHEN d.expires_at <= t.time THEN 0 ELSE d.active END - d.expired),
                    -sum(d.installations)
                FROM (
                    SELECT d.* FROM rollup_delta d LEFT JOIN rollup_state s ON s.app_id = d.app_id
                    WHERE d.transaction_id >= coalesce(s.horizon, 0)) AS d
                CROSS JOIN (SELECT \(sql: time) AS time) AS t WHERE \(sql: app)
                GROUP BY 1, 2, 3, 4) AS i
            GROUP BY 1, 2, 3, 4
            UNION ALL
            SELECT app_id, topic, cell, NULL, 0, -reachable, -active, -installations FROM rollup_cube
            WHERE \(sql: app)
            UNION ALL
            SELECT e.app_id, e.topic, e.cell, CASE WHEN e.expires_at > t.time THEN e.expires_at END,
                CASE WHEN e.expires_at > t.time THEN -e.active ELSE 0 END,
                CASE WHEN e.expires_at > t.time THEN 0 ELSE e.active END, 0, 0
            FROM rollup_expiry e CROSS JOIN (SELECT \(sql: time) AS time) AS t WHERE \(sql: app)) AS d
        LEFT JOIN rollup_cell c ON c.app_id = d.app_id AND c.number = d.cell
        WHERE \(sql: RollUpLayer.has("d.topic"))
        GROUP BY 1, 2, 3, 4
        """
    }

    /// A FROM item: the installations with choices, a row for each.
    private static let chosen: PostgresSQL = """
        (SELECT n.*, c.topic FROM installation n CROSS JOIN LATERAL unnest(n.topics) AS c (topic)
                    WHERE n.topics IS NOT NULL) AS i
        """

    /// Everything after `SELECT app_id, topic,`.
    private static func recounted(
        in source: PostgresSQL, at time: PostgresSQL, where app: PostgresSQL
    ) -> PostgresSQL {
        """
        i.cell, CASE WHEN i.session_expires_at > t.time THEN i.session_expires_at END AS later_at,
                    count(*) FILTER (WHERE i.state = 'active') AS active,
                    count(*) FILTER (WHERE i.state = 'active'
                        AND (i.session_expires_at IS NULL OR i.session_expires_at > t.time)) AS reachable,
                    count(*) AS installations
                FROM \(sql: source) CROSS JOIN (SELECT \(sql: time) AS time) AS t WHERE \(sql: app)
                GROUP BY 1, 2, 3, 4
        """
    }

    /// A SELECT: the same differences as deltas; folding them corrects the roll-up. A session that expired at
    /// `-infinity` is active and not reachable.
    static func corrections(where app: PostgresSQL, at time: PostgresSQL) -> PostgresSQL {
        """
        WITH drift AS MATERIALIZED (
            SELECT d.app_id, d.topic, d.cell,
                CASE WHEN \(sql: RollUpLayer.reaches("d.topic")) THEN d.later_at END AS later_at,
                CASE WHEN \(sql: RollUpLayer.reaches("d.topic")) THEN d.later ELSE 0 END AS later,
                d.reachable, d.active, d.installations
            FROM (\(sql: drift(where: app, at: time))) AS d
            LEFT JOIN rollup_cell c ON c.app_id = d.app_id AND c.number = d.cell
        ), cell AS MATERIALIZED (
            SELECT app_id, topic, cell, sum(later) AS later, sum(reachable) AS reachable, sum(active) AS active,
                sum(installations) AS installations
            FROM drift GROUP BY 1, 2, 3
        )
        SELECT app_id, topic, cell, later_at AS expires_at, later AS active, 0 AS installations
        FROM drift WHERE later_at IS NOT NULL AND later <> 0
        UNION ALL
        SELECT app_id, topic, cell, NULL, reachable - later, installations
        FROM cell WHERE reachable <> later OR installations <> 0
        UNION ALL
        SELECT app_id, topic, cell, '-infinity', active - reachable, 0 FROM cell WHERE active <> reachable
        """
    }

    /// Returns the number of corrections, and of their cells.
    static func appendCorrections(_ app: AppNumber, at time: PostgresTimestamp) -> PostgresStatement {
        """
        WITH appended AS (
            INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)
            SELECT app_id, \(sql: RollUpDeltaStatements.transactionID), topic, cell, expires_at, active,
                installations
            FROM (\(sql: corrections(where: "app_id = \(app.rawValue)", at: "\(time)::timestamptz"))) AS d
            RETURNING cell)
        SELECT count(*), count(DISTINCT cell) FROM appended
        """
    }

    /// Two rebuilds at once would correct each count twice. The lock allows all reads and writes, and the snapshot is
    /// taken after it.
    static let snapshot = """
        SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
        LOCK TABLE rollup_cube IN SHARE UPDATE EXCLUSIVE MODE
        """

    /// rebuild-rollup (R7): reads the time up to which sessions count as expired.
    static func time(of app: AppNumber) -> PostgresStatement {
        "SELECT greatest(swept_until, now()) FROM rollup_state WHERE app_id = \(app.rawValue)"
    }
}

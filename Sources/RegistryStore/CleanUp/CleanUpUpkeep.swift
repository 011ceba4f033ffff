import PostgresClient
import PushRegistry

/// What the night job does besides installations: it forgets old logouts, makes the partitions of the months to come, and drops those
/// that are older than history is kept.
struct CleanUpUpkeep {
    let session: PostgresSession

    /// How many months ahead partitions are made.
    private static let monthsAhead: Int32 = 3
    /// Of tables of small rows: some thousand rows are looked at, and those that are old removed, in one transaction.
    private static let pagesPerBatch: Int64 = 128
    private static let historyPerBatch: Int64 = 5_000

    // MARK: Tombstones

    /// What is past its app's `sessionTombstones`. A session that an installation is bound to stays, and so does one that was seen since.
    /// Of a user who was not logged out the row is only where registrations and logouts meet: whoever needs it makes it again.
    private static let tombstones: [(table: String, condition: PostgresSQL)] = [
        (
            "session",
            """
            greatest(t.ended_at, t.kept_at, t.seen_at) <= b.logged_out_since AND NOT EXISTS (
                SELECT FROM installation i WHERE i.app_id = t.app_id AND i.session_id = t.session_id)
            """
        ),
        (
            "user_guard",
            """
            (t.refused_before <= b.logged_out_since
                OR t.refused_before IS NULL AND t.added_at <= b.logged_out_since AND NOT EXISTS (
                    SELECT FROM session s
                    WHERE s.app_id = t.app_id AND s.user_sha256 = t.user_sha256 AND s.ended_at IS NULL))
            """
        ),
        ("installation_logout", "t.logged_out_at <= b.logged_out_since"),
    ]

    private static func old(_ table: String, _ condition: PostgresSQL) -> PostgresSQL {
        """
        FROM \(identifier: table) t JOIN cleanup_bounds b ON b.app_id = t.app_id AND b.provider = 'apns'
        WHERE \(sql: condition)
        """
    }

    func countTombstones() throws -> Int {
        try Self.tombstones.reduce(0) { sum, kind in
            let count = PostgresStatement("SELECT count(*) \(sql: Self.old(kind.table, kind.condition))").unprepared()
            return sum + (try session.execute(count)[0].decode(0) as Int)
        }
    }

    /// Some pages at a time. What somebody holds just now waits for the next night.
    func purgeTombstones(_ removed: (Int) throws -> Void) throws {
        for (table, condition) in Self.tombstones {
            try forEachBatch(of: table) { pages in
                let count = try purge(table, "\(sql: condition) AND \(sql: pages.hold("t"))")
                if count > 0 { try removed(count) }
            }
        }
    }

    /// A row is locked before it is told again whether it is old: a registration that held it until then may have bound an installation
    /// under it, which the statement that waited for the lock would not see. Who comes later finds it gone and makes it again.
    private func purge(_ table: String, _ condition: PostgresSQL) throws -> Int {
        try session.withTransaction {
            let locked = try session.execute(
                PostgresStatement("SELECT t.ctid::text \(sql: Self.old(table, condition)) FOR UPDATE OF t SKIP LOCKED")
                    .unprepared())
            guard !locked.isEmpty else { return 0 }
            let rows = try locked.map { try $0.decode(0, as: String.self) }
            return try session.execute(
                PostgresStatement(
                    """
                    DELETE FROM \(identifier: table)
                    WHERE ctid = ANY (ARRAY(
                        SELECT t.ctid \(sql: Self.old(table, condition)) AND t.ctid = ANY (\(rows)::text[]::tid[])))
                    """
                ).unprepared()
            ).affectedRows
        }
    }

    private func forEachBatch(of table: String, _ body: (TablePages) throws -> Void) throws {
        var pace = try CleanUpPace(session)
        for pages in try TablePages.all(of: table, by: Self.pagesPerBatch, session) {
            try pace.carry { try body(pages) }
        }
    }

    // MARK: History

    /// A month of which every day is older than history is kept.
    struct ExpiredMonth {
        /// Where the next one begins.
        let end: PostgresTimestamp
        /// By name.
        let partitions: [String]
    }

    /// The months that have partitions, the oldest first, and in the end the last one, be it that it has none.
    func expiredMonths(before: Timestamp) throws -> [ExpiredMonth] {
        try session.execute(
            """
            WITH expired AS (
                SELECT date_trunc('month', \(before.postgres)::timestamptz AT TIME ZONE 'UTC') AS day),
            partition AS (
                SELECT c.relname::text, to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' AS day
                FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid
                WHERE h.inhparent IN ('token_event'::regclass, 'settings_snapshot'::regclass)
                    AND c.relname ~ '_[0-9]{4}_[0-9]{2}$')
            SELECT day AT TIME ZONE 'UTC', coalesce(array_agg(relname ORDER BY relname) FILTER (WHERE relname IS NOT NULL), '{}')
            FROM (SELECT * FROM partition UNION ALL SELECT NULL, day FROM expired) AS month
            WHERE day <= (SELECT day FROM expired)
            GROUP BY day ORDER BY day
            """
        ).map { ExpiredMonth(end: try $0.decode(0), partitions: try $0.decode(1)) }
    }

    func makePartitions() throws -> Int {
        try session.execute("SELECT make_history_partitions(\(Self.monthsAhead))")[0].decode(0)
    }

    /// Of how many that `makePartitions` would make.
    func countMissingPartitions() throws -> Int {
        try session.execute(
            """
            SELECT count(*)
            FROM generate_series(0, \(Self.monthsAhead)) AS ahead
            CROSS JOIN (VALUES ('token_event'), ('settings_snapshot')) AS history (name)
            WHERE to_regclass(name || to_char(
                date_trunc('month', now() AT TIME ZONE 'UTC') + ahead * interval '1 month', '_YYYY_MM')) IS NULL
            """)[0].decode(0)
    }

    func dropPartition(_ name: String) throws {
        _ = try session.execute(PostgresStatement("DROP TABLE \(identifier: name)").unprepared())
    }

    private static let defaults = ["token_event_default", "settings_snapshot_default"]

    /// Rows of default partitions: there are none unless partitions were once missing. A batch at a time and the oldest first, as readers
    /// of changes count on.
    func removeFromDefaults(before end: PostgresTimestamp, _ removed: (Int) throws -> Void) throws {
        for table in Self.defaults {
            let statement: PostgresStatement = """
                DELETE FROM \(identifier: table) WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM \(identifier: table) WHERE at < \(end)
                    ORDER BY \(sql: table == "token_event_default" ? "transaction_id, id" : "id") LIMIT \(Self.historyPerBatch)))
                """
            var pace = try CleanUpPace(session)
            var count = 0
            repeat {
                try pace.carry { count = try session.execute(statement.unprepared()).affectedRows }
                if count > 0 { try removed(count) }
            } while count == Self.historyPerBatch
        }
    }

    func countDefaults(before end: PostgresTimestamp) throws -> Int {
        try Self.defaults.reduce(0) { sum, table in
            let count: PostgresStatement = "SELECT count(*) FROM \(identifier: table) WHERE at < \(end)"
            return sum + (try session.execute(count.unprepared())[0].decode(0) as Int)
        }
    }

    // MARK: Undoing

    /// What changed since it was cleaned up is not restored any more: no token or session is kept for that.
    func forgetOutdatedChanges() throws {
        try forEachBatch(of: "cleanup_change") { pages in
            _ = try session.execute(
                PostgresStatement(
                    """
                    DELETE FROM cleanup_change c USING installation i
                    WHERE \(sql: pages.hold("c")) AND (c.token IS NOT NULL OR c.session_id IS NOT NULL) AND i.app_id = c.app_id AND i.install_id = c.install_id
                        AND i.generation <> c.generation
                    """
                ).unprepared())
        }
    }

    // MARK: Roll-up

    /// Folds what the run appended, unless a service is at it.
    func foldRollUp() throws {
        try RollUpFold.runAll(in: session)
    }
}

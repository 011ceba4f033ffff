import PostgresClient
import PushRegistry

/// What the night job does besides installations: it forgets old logouts, makes the partitions of the months to come, and drops those
/// that are older than history is kept.
struct CleanUpUpkeep {
    let session: PostgresSession

    /// How many months ahead partitions are made.
    private static let monthsAhead: Int32 = 3
    private static let tombstonesPerBatch: Int64 = 5_000
    private static let foldsPerBatch: Int32 = 20_000

    // MARK: Tombstones

    /// What is past its app's `sessionTombstones`. A session that an installation is bound to stays, and so does one that was seen since.
    private static let tombstones: [(table: String, condition: PostgresSQL)] = [
        (
            "session",
            """
            greatest(t.ended_at, t.kept_at, t.seen_at) <= b.logged_out_since AND NOT EXISTS (
                SELECT FROM installation i WHERE i.app_id = t.app_id AND i.session_id = t.session_id)
            """
        ),
        ("user_guard", "t.refused_before <= b.logged_out_since"),
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

    /// In batches; those that somebody holds just now wait for the next night.
    func purgeTombstones(_ removed: (Int) throws -> Void) throws {
        for (table, condition) in Self.tombstones {
            let statement: PostgresStatement = """
                DELETE FROM \(identifier: table)
                WHERE ctid = ANY (ARRAY(
                    SELECT t.ctid \(sql: Self.old(table, condition)) LIMIT \(Self.tombstonesPerBatch)
                    FOR UPDATE OF t SKIP LOCKED))
                """
            while true {
                let count = try session.execute(statement.unprepared()).affectedRows
                if count > 0 { try removed(count) }
                if count < Self.tombstonesPerBatch { break }
                try session.checkCancellation()
            }
        }
    }

    // MARK: History

    /// The months whose every day is older than history is kept: their partitions by name.
    func expiredPartitions(before: Timestamp) throws -> [String] {
        try session.execute(
            """
            SELECT c.relname::text
            FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid
            WHERE h.inhparent IN ('token_event'::regclass, 'settings_snapshot'::regclass)
                AND c.relname ~ '_[0-9]{4}_[0-9]{2}$'
                AND (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month') AT TIME ZONE 'UTC' <= \(before.postgres)
            ORDER BY right(c.relname, 7), c.relname
            """
        ).map { try $0.decode(0) }
    }

    func makePartitions() throws -> Int {
        try session.execute("SELECT make_history_partitions(\(Self.monthsAhead))")[0].decode(0)
    }

    func dropPartition(_ name: String) throws {
        _ = try session.execute(PostgresStatement("DROP TABLE \(identifier: name)").unprepared())
    }

    /// Rows of default partitions, of months that were dropped: there are none unless partitions were once missing.
    func removeFromDefaults(before: Timestamp) throws -> Int {
        let month: PostgresSQL =
            "date_trunc('month', \(before.postgres)::timestamptz AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
        let events = try session.execute("DELETE FROM token_event_default WHERE at < \(sql: month)").affectedRows
        return events
            + (try session.execute("DELETE FROM settings_snapshot_default WHERE at < \(sql: month)").affectedRows)
    }

    // MARK: Undoing

    /// What changed since it was cleaned up is not restored any more.
    func forgetOutdatedChanges() throws {
        _ = try session.execute(
            """
            DELETE FROM cleanup_change c USING installation i
            WHERE i.app_id = c.app_id AND i.install_id = c.install_id AND i.generation <> c.generation
            """)
    }

    // MARK: Roll-up

    /// Folds what the run appended, unless a service is at it.
    func foldRollUp() throws {
        while let folded: Int32 = try session.execute(RollUpStatements.fold(Self.foldsPerBatch))[0].decode(0),
            folded == Self.foldsPerBatch
        {
            try session.checkCancellation()
        }
    }
}

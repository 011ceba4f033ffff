import PostgresClient
import PushRegistry

/// The SQL of history (R12) and of the change feed.
enum EventStatements {
    /// In the order in which `RecordedEvent` reads them.
    private static let columns: PostgresSQL = """
        (SELECT epoch FROM change_epoch), e.app_id, e.transaction_id::text::bigint, e.id, e.at, e.event::text, e.reason, \
        e.actor, e.install_id, e.provider::text, e.token_sha256, e.user_id, e.previous_user_id, e.state::text, \
        e.generation_before, e.generation_after
        """

    /// A deleted installation still has its history.
    static let isKnown = PreparedSQL(
        """
        SELECT EXISTS (SELECT FROM installation WHERE app_id = $1 AND install_id = $2)
            OR EXISTS (SELECT FROM token_event WHERE app_id = $1 AND install_id = $2)
        """)

    static let ofInstallation = PreparedSQL(
        """
        SELECT \(sql: columns) FROM token_event e
        WHERE app_id = $1 AND install_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4
        """)

    /// The events that name the token, and those by which a holder went over to another one: they name the new token, and are the
    /// next of their installation.
    ///
    /// A token has one holder at a time (R1), so that such an event comes before whatever names the token next. The newest
    /// events that name it therefore lead to the newest of both kinds.
    static let ofToken = PreparedSQL(
        """
        WITH named AS MATERIALIZED (
            SELECT * FROM token_event
            WHERE app_id = $1 AND provider = $2::text::provider AND token_sha256 = $3 AND id < $4
            ORDER BY id DESC LIMIT $5
        ), left_behind AS (
            SELECT f.* FROM named n
            CROSS JOIN LATERAL (
                SELECT * FROM token_event f
                WHERE f.app_id = n.app_id AND f.install_id = n.install_id AND f.id > n.id ORDER BY f.id LIMIT 1) AS f
            WHERE n.state <> 'superseded' AND n.event NOT IN ('deleted', 'erased') AND f.id < $4
                AND (f.token_sha256 IS DISTINCT FROM n.token_sha256 OR f.provider <> n.provider)
        )
        SELECT \(sql: columns) FROM (SELECT * FROM named UNION ALL SELECT * FROM left_behind) AS e
        ORDER BY e.id DESC LIMIT $5
        """)

    /// The feed's epoch, and whether it is this database's.
    static let epoch = PreparedSQL("SELECT epoch, identity = database_identity() FROM change_epoch")

    /// Events are never removed one by one, but a month at a time and oldest first: while a cursor's own event is there, so are all
    /// that follow it.
    static let isKept = PreparedSQL(
        """
        SELECT true FROM token_event WHERE app_id = $1 AND transaction_id = $2::bigint::text::xid8 AND id = $3 LIMIT 1
        """)

    /// In the order of transactions, up to the oldest that is still under way: below it nothing can appear any more. An event of a
    /// later transaction that has committed already waits until then.
    static let changes = PreparedSQL(
        """
        SELECT \(sql: columns) FROM token_event e
        WHERE app_id = $1 AND transaction_id >= $2::bigint::text::xid8
            AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
            AND (transaction_id > $2::bigint::text::xid8 OR id > $3)
        ORDER BY transaction_id, id LIMIT $4
        """)

    static let adoptRestoredEvents: PostgresStatement = "SELECT adopt_restored_events()"
}

extension RecordedEvent {
    init(_ row: PostgresRow) throws {
        var reader = ColumnReader(row)
        let cursor = EventCursor(
            epoch: try reader.next(), app: AppNumber(try reader.next()), transactionID: try reader.next(),
            id: try reader.next())
        self.init(
            cursor: cursor, at: try reader.nextTimestamp(), kind: try reader.next(), reason: try reader.next(),
            actor: try reader.next(), installID: try reader.next(), provider: try reader.next(),
            tokenSHA256: try reader.next(), userID: try reader.next(), previousUserID: try reader.next(),
            state: try reader.next(), generationBefore: try reader.next(), generationAfter: try reader.next())
    }
}

extension EventPage {
    /// - Parameter rows: one more than `limit` where another page follows.
    init(_ rows: PostgresResult, limit: Int) throws {
        let events = try rows.prefix(limit).map(RecordedEvent.init)
        self.init(events: events, next: rows.count > limit ? events.last?.cursor : nil)
    }
}

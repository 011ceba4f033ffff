import PostgresClient
import PushRegistry

/// The SQL of history (R12) and of the change feed.
enum EventStatements {
    /// In the order in which `RecordedEvent` reads them.
    private static let columns: PostgresSQL = """
        (SELECT epoch FROM change_epoch), e.app_id, e.position, e.id, e.at, e.event::text, e.reason, \
        e.actor, e.install_id, e.provider::text, e.token_sha256, e.user_id, e.previous_user_id, e.state::text, \
        e.generation_before, e.generation_after, e.topics
        """

    /// A deleted installation keeps its history.
    static let isKnown = PreparedSQL(
        """
        SELECT EXISTS (SELECT FROM installation WHERE app_id = $1 AND install_id = $2)
            OR EXISTS (SELECT FROM token_event WHERE app_id = $1 AND install_id = $2)
        """)

    /// GET …/installations/{installId}/history (R12): reads a page of an installation's events.
    static let ofInstallation = PreparedSQL(
        """
        SELECT \(sql: columns) FROM token_event e
        WHERE app_id = $1 AND install_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4
        """)

    /// Two kinds of events: those that name the token, and those by which its holder got another token. An event of the
    /// second kind names the new token, and follows directly the last event that names the old one.
    ///
    /// A token has one holder at a time (R1), so an event of the second kind comes before the next event that names the
    /// token. The newest events that name the token therefore lead to the newest events of both kinds.
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
                WHERE f.app_id = $1 AND f.install_id = n.install_id AND f.id > n.id ORDER BY f.id LIMIT 1) AS f
            WHERE n.state <> 'superseded' AND n.event NOT IN ('deleted', 'erased') AND f.id < $4
                AND (f.token_sha256 IS DISTINCT FROM n.token_sha256 OR f.provider <> n.provider)
        )
        SELECT \(sql: columns) FROM (SELECT * FROM named UNION ALL SELECT * FROM left_behind) AS e
        ORDER BY e.id DESC LIMIT $5
        """)

    /// Column 2 says whether the epoch belongs to this database, and not to the one that was dumped.
    static let epoch = PreparedSQL(
        "SELECT c.epoch, c.identity = d.identity FROM change_epoch c CROSS JOIN database_identity d")

    /// History is dropped by the month, and for each app the newest dropped event is remembered.
    static let isDropped = PreparedSQL(
        """
        SELECT EXISTS (SELECT FROM dropped_history WHERE app_id = $1 AND (position, id) > ($2, $3))
        """)

    /// Column 2 is above the positions of all events that this server ever had. A cursor above it is of a server that
    /// this one replaced, and whose last transactions this one did not get.
    static let horizon = PreparedSQL(
        """
        SELECT pg_snapshot_xmin(s.now)::text::bigint, pg_snapshot_xmax(s.now)::text::bigint
        FROM pg_current_snapshot() AS s (now)
        """)

    /// The events after the cursor `$2`, `$3` and below the horizon `$4`. An event at or above the horizon is returned
    /// later, when all older transactions have ended.
    static let changes = PreparedSQL(
        """
        SELECT \(sql: columns) FROM token_event e
        WHERE app_id = $1 AND position >= $2 AND position < $4 AND (position > $2 OR id > $3)
        ORDER BY position, id LIMIT $5
        """)

    /// POST …/feedback/release and …/restore (R9): the newest events before the cursor `$2`, `$3`.
    static let newest = PreparedSQL(
        """
        SELECT \(sql: columns) FROM token_event e
        WHERE app_id = $1 AND position <= $2 AND (position < $2 OR id < $3)
        ORDER BY position DESC, id DESC LIMIT $4
        """)

    /// The position of an event that is written now, under its installation's lock or on condition of its revision. No
    /// event of a transaction that has ended has a higher one.
    static let position: PostgresSQL = """
        greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)
        """

    // MARK: Writing

    /// Nil without events.
    static func append(
        _ events: [TokenEvent], _ topicsEvents: [TopicsEvent], in app: AppNumber, at moment: Moment
    ) -> PostgresStatement? {
        let rows = events.map(EventRow.init) + topicsEvents.map(EventRow.init)
        guard !rows.isEmpty else { return nil }
        assert(rows.count <= moment.eventIDs.count, "a transaction has a limited number of events")
        return PostgresStatement(appendSQL) { binds in
            binds.bind(app.rawValue)
            binds.bind(moment.position)
            binds.bind(Array(moment.eventIDs.prefix(rows.count)))
            EventRow.batch.bind(rows, to: &binds)
        }
    }

    /// Every call that changes a binding or choices about topics (R12): writes events.
    static let appendSQL = PreparedSQL(
        """
        INSERT INTO token_event (app_id, position, id, \(sql: EventRow.batch.list.names))
        SELECT \(sql: AppRow.app), $2, k.id, \(sql: EventRow.batch.list.values)
        FROM \(sql: AppRow.beside((ColumnList.id + EventRow.batch.list).unnest(from: 3)))
        """)

    /// Service, at start (R12): begins another epoch of cursors after a restored dump.
    static let adoptRestoredEvents: PostgresStatement = "SELECT adopt_restored_events()"
}

/// An event as a row of `token_event`.
private struct EventRow {
    let installID: InstallID?
    let kind: EventKind
    let reason: TokenEvent.Reason
    let actor: String?
    let at: Timestamp
    let provider: Provider?
    let tokenSHA256: [UInt8]?
    let userID: UserID?
    let previousUserID: UserID?
    let state: InstallationState?
    let generationBefore: Int64?
    let generationAfter: Int64?
    let topics: [TopicSlug]?

    init(_ event: TokenEvent) {
        (installID, kind, reason, actor) = (event.key.installID, event.kind, event.reason, event.actor)
        (at, provider, tokenSHA256) = (event.at, event.provider, event.tokenSHA256)
        (userID, previousUserID, state) = (event.userID, event.previousUserID, event.state)
        (generationBefore, generationAfter, topics) = (event.generationBefore, event.generationAfter, nil)
    }

    /// Choices change no generation.
    init(_ event: TopicsEvent) {
        let installation = event.installation
        (installID, kind, reason, actor) = (installation?.key.installID, .topicsChanged, event.reason, event.actor)
        (at, provider, tokenSHA256) = (event.at, installation?.provider, installation?.tokenSHA256)
        (userID, previousUserID, state) = (event.userID, event.previousUserID, installation?.state)
        (generationBefore, generationAfter) = (installation?.generation, installation?.generation)
        topics = event.topics
    }

    static let batch = BatchColumns<EventRow>([
        .init("install_id", "text") { $0.installID?.rawValue },
        .init("event", "text", cast: "event_kind") { $0.kind.rawValue },
        .init("reason", "text") { $0.reason.rawValue },
        .init("actor", "text") { $0.actor },
        .init("at", "timestamptz") { $0.at.postgres },
        .init("provider", "text", cast: "provider") { $0.provider?.rawValue },
        .init("token_sha256", "bytea") { $0.tokenSHA256 },
        .init("user_id", "text") { $0.userID?.rawValue },
        .init("previous_user_id", "text") { $0.previousUserID?.rawValue },
        .init("state", "text", cast: "installation_state") { $0.state?.rawValue },
        .init("generation_before", "bigint") { $0.generationBefore },
        .init("generation_after", "bigint") { $0.generationAfter },
        .init("topics", texts: { $0.topics?.map(\.rawValue) }),
    ])
}

extension RecordedEvent {
    init(_ row: PostgresRow) throws {
        var reader = ColumnReader(row)
        let cursor = EventCursor(
            epoch: try reader.next(), app: AppNumber(try reader.next()), position: try reader.next(),
            id: try reader.next())
        self.init(
            cursor: cursor, at: try reader.next(), kind: try reader.next(), reason: try reader.next(),
            actor: try reader.next(), installID: try reader.next(), provider: try reader.next(),
            tokenSHA256: try reader.next(), userID: try reader.next(), previousUserID: try reader.next(),
            state: try reader.next(), generationBefore: try reader.next(), generationAfter: try reader.next(),
            topics: try reader.next())
    }
}

extension EventPage {
    /// - Parameter rows: one more than `limit` where another page follows.
    init(_ rows: PostgresResult, limit: Int) throws {
        let events = try rows.prefix(limit).map(RecordedEvent.init)
        self.init(events: events, next: rows.count > limit ? events.last?.cursor : nil)
    }
}

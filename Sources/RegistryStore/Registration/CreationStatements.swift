import PostgresClient

/// The SQL that creates installations in one trip: under the locks of their users and sessions, but without those of
/// tokens and of other installations. `$1` is the app, `$2` the time of the look-up, `$3` the same in microseconds,
/// `$4` the actor; the rest are arrays.
///
/// Installations that a statement does not return are written by the statements under locks.
enum CreationStatements {
    static let named = [
        NamedStatement("create", create), NamedStatement("takeOver", takeOver),
    ]

    /// Creates an installation if no other one has its token or keychain id, if neither its user nor its session was
    /// logged out, and if its user has no choices about topics. It fails if another transaction claims one of the
    /// tokens at the same time.
    static let create = PreparedSQL(
        serving: "PUT …/installations/{installId} (R1, R7, R12): creates installations in one trip.",
        """
        WITH \(sql: moment), created AS (
            \(sql: insert)
            WHERE \(sql: mayBind)
                AND NOT EXISTS (
                    SELECT FROM token_holder h
                    WHERE h.app_id = $1 AND h.provider = k.provider AND h.token_sha256 = k.token_sha256)
                AND (k.keychain_id IS NULL OR NOT EXISTS (
                    SELECT FROM installation o WHERE o.app_id = $1 AND o.keychain_id = k.keychain_id OFFSET 0))
            RETURNING i.install_id, i.provider, i.token_sha256, i.user_id, i.session_id, i.session_expires_at, i.cell,
                i.generation, i.created_at
        ), held AS (
            INSERT INTO token_holder (app_id, provider, token_sha256, install_id)
            SELECT $1, provider, token_sha256, install_id FROM created
        ), owned AS (
            \(sql: beginBinding(of: "created"))
        ), recorded AS (
            INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, token_sha256,
                user_id, state, generation_before, generation_after)
            SELECT (SELECT \(sql: EventStatements.position)), created_at, $1, install_id, 'registered',
                'firstRegistration', $4, provider, token_sha256, user_id, 'active', 0, generation
            FROM created
        ), counted AS (
            INSERT INTO rollup_delta (app_id, transaction_id, cell, expires_at, active, installations)
            SELECT $1, \(sql: RollUpDeltaStatements.transactionID), cell, session_expires_at, count(*), count(*)
            FROM created GROUP BY cell, session_expires_at
        )
        SELECT install_id, generation, created_at FROM created
        """)

    /// As `create`, for a token that an active installation holds (R4): the holder loses it and becomes superseded. The
    /// holder must have no choices about topics and no notifications. Only the new installation and the holder may have
    /// the keychain id.
    ///
    /// Tokens are locked first, in the order of the arrays, then their holders in the order of ids. If a token moves
    /// while this statement waits for it, its row is left alone. If a holder changes meanwhile, the token's row is
    /// written already: the statement divides by zero, which rolls the transaction back (`isLostRace`). So the holder's
    /// last event is older than the statement's snapshot, and the position of the new one is not below it.
    ///
    /// A token and its holder are looked up by subqueries with `OFFSET 0`, and the holder is written at its place. So
    /// rows are read one by one, whatever a session knew about the tables when it planned this.
    static let takeOver = PreparedSQL(
        serving: "PUT …/installations/{installId} (R1, R4, R7, R12): takes tokens for new installations in one trip.",
        """
        WITH \(sql: moment), claimed AS MATERIALIZED (
            UPDATE token_holder h SET install_id = k.install_id
            FROM \(sql: CreatedRow.columns.unnest(claiming, from: 5))
                CROSS JOIN LATERAL (
                    SELECT ctid AS place, install_id FROM token_holder
                    WHERE app_id = $1 AND provider = k.provider AND token_sha256 = k.token_sha256 OFFSET 0) AS s
                CROSS JOIN LATERAL (
                    SELECT ctid AS place, install_id, revision FROM installation
                    WHERE app_id = $1 AND install_id = s.install_id AND state = 'active' AND topic_choices IS NULL
                    OFFSET 0) AS o
            WHERE h.ctid = s.place AND \(sql: mayBind)
                AND NOT EXISTS (
                    SELECT FROM notification_counter c WHERE c.app_id = $1 AND c.install_id = o.install_id OFFSET 0)
                AND (k.keychain_id IS NULL OR NOT EXISTS (
                    SELECT FROM installation t
                    WHERE t.app_id = $1 AND t.keychain_id = k.keychain_id AND t.install_id <> o.install_id))
            RETURNING k.install_id, k.token_sha256, k.user_id, k.session_expires_at, k.cell,
                o.place AS holder_place, o.install_id AS holder_id, o.revision AS holder_revision
        ), released AS (
            UPDATE installation i
            SET token = NULL, token_sha256 = NULL, p256dh = NULL, auth = NULL, state = 'superseded',
                generation = i.generation + 1, epoch = i.generation + 1, revision = i.revision + 1,
                state_changed_at = greatest(m.now, i.registered_at, i.last_seen_at, i.state_changed_at)
            FROM (SELECT * FROM claimed ORDER BY holder_id) AS k CROSS JOIN moment m
            WHERE i.ctid = k.holder_place AND i.revision = k.holder_revision
            RETURNING k.install_id AS new_id, k.user_id AS new_user_id, k.session_expires_at AS new_expires_at,
                k.cell AS new_cell, k.token_sha256, i.install_id, i.provider, i.user_id, i.session_expires_at, i.cell,
                i.topics, i.generation, i.state_changed_at
        ), created AS (
            \(sql: insert)
            WHERE k.install_id = ANY (ARRAY(SELECT new_id FROM released))
            RETURNING i.install_id, i.user_id, i.session_id, i.generation, i.created_at
        ), owned AS (
            \(sql: beginBinding(of: "created"))
        ), recorded AS (
            INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, token_sha256,
                user_id, previous_user_id, state, generation_before, generation_after)
            SELECT (SELECT \(sql: EventStatements.position)), e.at, $1, e.install_id, e.event::event_kind, 'tokenMoved',
                $4, e.provider, e.token_sha256, e.user_id, e.previous_user_id, e.state::installation_state, e.before,
                e.after
            FROM (
                SELECT state_changed_at AS at, install_id, 'superseded' AS event, provider, token_sha256, user_id,
                    user_id AS previous_user_id, 'superseded' AS state, generation - 1 AS before, generation AS after
                FROM released
                UNION ALL
                SELECT m.now, new_id, 'takenOver', provider, token_sha256, new_user_id, user_id, 'active', 0,
                    m.generation
                FROM released CROSS JOIN moment m) AS e
            WHERE (SELECT count(*) FROM created) > 0
        ), counted AS (
            \(sql: RollUpDeltaStatements.insert(from: """
                SELECT topics, cell, session_expires_at AS expires_at, -1 AS active, -1 AS installations FROM released
                UNION ALL
                SELECT topics, cell, NULL, 0, 1 FROM released
                UNION ALL
                SELECT NULL, new_cell, new_expires_at, 1, 1 FROM released
                """))
        )
        SELECT install_id, generation, created_at FROM created
        WHERE 1 / CASE WHEN (SELECT count(*) FROM claimed) = (SELECT count(*) FROM created) THEN 1 ELSE 0 END = 1
        """)

    private static let claiming: Set = [
        "install_id", "provider", "token_sha256", "user_id", "user_sha256", "session_id", "session_expires_at", "cell",
        "keychain_id",
    ]

    // MARK: Parts

    /// Generations begin at the microsecond of the statement: since the look-up, an installation with this id may have
    /// been created and deleted.
    private static let moment: PostgresSQL = """
        moment AS MATERIALIZED (
            SELECT now, greatest($3, (extract(epoch FROM now) * 1000000)::bigint) AS generation
            FROM (SELECT greatest($2, clock_timestamp()) AS now OFFSET 0) AS clock
        )
        """

    /// An INSERT of the rows `k`, without its condition.
    private static let insert: PostgresSQL = """
        INSERT INTO installation AS i (app_id, state, generation, registration_generation, epoch, revision,
                created_at, registered_at, last_seen_at, state_changed_at, snapshot_at,
                \(sql: CreatedRow.written.names))
            SELECT $1, 'active', m.generation, m.generation, m.generation, m.generation, m.now, m.now, m.now, m.now,
                m.now, \(sql: CreatedRow.written.values)
            FROM moment m CROSS JOIN \(sql: CreatedRow.columns.unnest(from: 5))
        """

    /// - Parameter rows: the part of the statement that returned the installations.
    static func beginBinding(of rows: PostgresSQL) -> PostgresSQL {
        """
        INSERT INTO installation_owner (app_id, user_id, install_id, session_id)
            SELECT $1, user_id, install_id, session_id FROM \(sql: rows) WHERE user_id IS NOT NULL
            ON CONFLICT (app_id, user_id, install_id)
            DO UPDATE SET session_id = excluded.session_id, left_at = NULL
        """
    }

    /// R7: the condition that no tombstone could refuse the binding, and that the user has no choices. It is true for a
    /// registration without an owner.
    ///
    /// Without `OFFSET 0`, a session that planned this while the tables were small would read all rows of the app into
    /// a hash table, for each batch.
    static let mayBind: PostgresSQL = """
        (k.user_sha256 IS NULL OR (
                EXISTS (
                    SELECT FROM user_guard g
                    WHERE g.app_id = $1 AND g.user_sha256 = k.user_sha256 AND g.refused_before IS NULL
                        AND g.topics IS NULL OFFSET 0)
                AND NOT EXISTS (
                    SELECT FROM installation_logout l WHERE l.app_id = $1 AND l.install_id = k.install_id OFFSET 0)))
            AND (k.session_id IS NULL OR EXISTS (
                SELECT FROM session s
                WHERE s.app_id = $1 AND s.session_id = k.session_id AND s.ended_at IS NULL OFFSET 0))
        """
}

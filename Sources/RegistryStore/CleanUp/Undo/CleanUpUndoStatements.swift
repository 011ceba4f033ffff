import PostgresClient
import PushRegistry

/// The SQL of `push-registry cleanup undo`.
enum CleanUpUndoStatements {
    static let named = [
        NamedStatement("run", run), NamedStatement("addResults", addResults), NamedStatement("left", left),
        NamedStatement("restoreJudged", restoreJudged), NamedStatement("readChanges", readChanges),
        NamedStatement("restoreChanges", restoreChanges),
        NamedStatement(
            "batchSettings", serving: "cleanup undo: prepares a batch's transaction.", script: batchSettings),
        NamedStatement(
            "readJudged", serving: "cleanup undo (R9, R11): finds installations that a run made stale or unregistered.",
            readJudged(NamedStatement.pages, from: NamedStatement.time, to: NamedStatement.time)),
    ]

    static let run = PreparedSQL(
        serving: "cleanup undo: reads a run, which run it undoes itself, and its time.",
        "SELECT undoes, started_at, coalesce(finished_at, 'infinity') FROM cleanup_run WHERE id = $1")

    /// `$1` is the undoing run, `$2` the undone one.
    static let addResults = PreparedSQL(
        serving: "cleanup undo: adds a row of results for each app.",
        "INSERT INTO cleanup_result (run_id, app_id) SELECT $1, app_id FROM cleanup_result WHERE run_id = $2")

    /// `$1` is the undone run.
    static let left = PreparedSQL(
        serving: "cleanup undo: counts installations that no undo has restored.",
        """
        SELECT coalesce(sum(superseded + unregistered + session_ended + stale), 0)::bigint - (
                SELECT coalesce(sum(u.restored), 0) FROM cleanup_result u
                WHERE u.run_id IN (SELECT id FROM cleanup_run WHERE undoes = $1))::bigint
        FROM cleanup_result WHERE run_id = $1
        """)

    /// A batch looks its rows up by key, and waits for a lock at most as long as these settings allow.
    static let batchSettings = """
        SET LOCAL lock_timeout = '5s'; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off;
        SET LOCAL enable_mergejoin = off
        """

    // MARK: Installations that lost nothing

    /// Stale and unregistered installations on these pages whose last event is of the run. Runs do not overlap in time.
    static func readJudged(
        _ range: PageRange, from start: PostgresTimestamp, to end: PostgresTimestamp
    ) -> PostgresStatement {
        """
        SELECT i.app_id, i.state::text, i.install_id, i.revision
        FROM installation i
        WHERE \(sql: range.contains("i")) AND i.state IN ('stale', 'unregistered')
            AND i.state_changed_at >= \(start) AND i.state_changed_at <= \(end)
            AND EXISTS (
                SELECT FROM token_event e
                WHERE e.app_id = i.app_id AND e.install_id = i.install_id AND e.generation_after = i.generation
                    AND e.actor = \(literal: CleanUpStatements.actor))
        """
    }

    /// Restores the state `$6` of the installations `$4` that still have the revisions `$5`. `$1` is the app, `$2` the
    /// time, `$3` the undoing run. Returns the number of restored installations.
    static let restoreJudged = PreparedSQL(
        serving: "cleanup undo (R9, R11): restores stale and unregistered installations.",
        """
        WITH changed AS (
            UPDATE installation i
            SET state = $6::text::installation_state, generation = i.generation + 1, revision = i.revision + 1,
                state_changed_at = \(sql: time)
            FROM unnest($4::text[], $5::bigint[]) AS k (install_id, revision)
            WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.revision
            RETURNING \(sql: changed), 0 AS bound
        ), \(sql: recorded)
        SELECT count(*) FROM changed
        """)

    // MARK: Installations that lost a token or a session

    /// Up to `$4` installations after `$2`, `$3` that the run `$1` changed. The event names the session's user, unless
    /// the user was erased.
    static let readChanges = PreparedSQL(
        serving: "cleanup undo (R5, R7): reads installations that lost a token or a session.",
        """
        SELECT c.app_id, c.install_id, c.generation, c.session_id, e.previous_user_id, i.provider::text, c.token_sha256
        FROM cleanup_change c
            JOIN installation i ON i.app_id = c.app_id AND i.install_id = c.install_id
            LEFT JOIN LATERAL (
                SELECT previous_user_id FROM token_event e
                WHERE e.app_id = c.app_id AND e.install_id = c.install_id AND e.generation_after = c.generation
                    AND e.event = 'sessionEnded' AND c.step = 'sessionEnded'
                ORDER BY e.id DESC LIMIT 1) AS e ON true
        WHERE c.run_id = $1 AND (c.app_id, c.install_id) > ($2, $3)
        ORDER BY c.app_id, c.install_id LIMIT $4
        """)

    /// Restores the installations `$4` that have not changed since: `$5` are their generations after the run, `$6` the
    /// users of the sessions. The transaction has locked the buckets of users and sessions, and the tokens. `$1` is the
    /// app, `$2` the time, `$3` the undoing run, `$8` the transaction's number. Returns the number of restored
    /// installations.
    static let restoreChanges = PreparedSQL(
        serving: "cleanup undo (R5, R7): restores tokens and bindings.",
        """
        WITH chosen AS MATERIALIZED (
            SELECT c.*, k.user_id, (
                    SELECT g.topics FROM user_guard g
                    WHERE g.app_id = $1 AND g.user_sha256 = \(sql: UserDigest.sha256(of: "k.user_id"))) AS user_topics,
                row_number() OVER (PARTITION BY i.provider, c.token_sha256 ORDER BY c.generation DESC) AS claim
            FROM unnest($4::text[], $5::bigint[], $6::text[]) AS k (install_id, generation, user_id)
                JOIN cleanup_change c ON c.app_id = $1 AND c.install_id = k.install_id AND c.generation = k.generation
                JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id AND i.generation = k.generation
            WHERE \(sql: mayReturn)
        ), changed AS (
            UPDATE installation i
            SET state = c.previous_state, generation = i.generation + 1, revision = i.revision + 1,
                state_changed_at = CASE WHEN i.state = c.previous_state THEN i.state_changed_at ELSE \(sql: time) END,
                epoch = CASE WHEN c.step = 'sessionEnded' THEN i.generation + 1 ELSE i.epoch END,
                token = coalesce(c.token, i.token), token_sha256 = coalesce(c.token_sha256, i.token_sha256),
                p256dh = coalesce(c.p256dh, i.p256dh), auth = coalesce(c.auth, i.auth),
                user_id = coalesce(c.user_id, i.user_id), session_id = coalesce(c.session_id, i.session_id),
                session_expires_at = coalesce(c.session_expires_at, i.session_expires_at),
                credential_issued_at = coalesce(c.credential_issued_at, i.credential_issued_at),
                topic_choices = CASE WHEN c.step = 'sessionEnded' THEN c.topic_choices ELSE i.topic_choices END,
                topics = CASE
                    WHEN c.step = 'sessionEnded'
                    THEN merged_choices(c.topic_choices, c.user_topics)
                    ELSE i.topics END
            FROM chosen c
            WHERE i.app_id = $1 AND i.install_id = c.install_id AND i.generation = c.generation
                AND (c.token_sha256 IS NULL OR c.claim = 1)
            RETURNING \(sql: changed), c.step, i.session_id, (c.step = 'sessionEnded')::integer AS bound
        ), held AS (
            UPDATE token_holder h SET install_id = c.install_id FROM changed c
            WHERE h.app_id = $1 AND h.provider = c.provider AND h.token_sha256 = c.token_sha256
                AND c.step = 'superseded'
        ), bound AS (
            INSERT INTO installation_owner (app_id, user_id, install_id, session_id, number)
            SELECT $1, user_id, install_id, session_id, $8 FROM changed WHERE step = 'sessionEnded'
            ON CONFLICT (app_id, user_id, install_id)
            DO UPDATE SET number = excluded.number, session_id = excluded.session_id, left_at = NULL
        ), \(sql: recorded), done AS (
            DELETE FROM cleanup_change u USING changed c WHERE u.app_id = $1 AND u.install_id = c.install_id
        )
        SELECT count(*) FROM changed
        """)

    /// R1: no installation holds the token. R7: neither the session nor the user was logged out since the binding
    /// began.
    private static let mayReturn: PostgresSQL = """
        (c.token_sha256 IS NULL OR EXISTS (
                SELECT FROM token_holder h
                WHERE h.app_id = $1 AND h.provider = i.provider AND h.token_sha256 = c.token_sha256
                    AND h.install_id IS NULL))
            AND (c.step <> 'sessionEnded' OR k.user_id IS NOT NULL
                AND NOT EXISTS (
                    SELECT FROM session s
                    WHERE s.app_id = $1 AND s.session_id = c.session_id AND s.ended_at IS NOT NULL)
                AND NOT EXISTS (
                    SELECT FROM user_guard g JOIN installation_owner b
                        ON b.app_id = $1 AND b.user_id = k.user_id AND b.install_id = i.install_id
                    WHERE g.app_id = $1 AND g.user_sha256 = \(sql: UserDigest.sha256(of: "k.user_id"))
                        AND g.refused_number > b.number)
                AND NOT EXISTS (
                    SELECT FROM installation_logout o
                    WHERE o.app_id = $1 AND o.install_id = i.install_id
                        AND o.user_sha256 = \(sql: UserDigest.sha256(of: "k.user_id"))
                        AND o.session_id IN ('', c.session_id)))
        """

    // MARK: Parts of both

    private static let time: PostgresSQL = "greatest(i.state_changed_at, i.last_seen_at, $2)"

    private static let changed: PostgresSQL = """
        i.install_id, i.provider, i.token_sha256, i.user_id, i.state, i.generation, \(sql: time) AS at, i.cell,
                i.session_expires_at, i.topics
        """

    /// `$7` is the position of the events, drawn by the transaction: inside of the statement, it would be the one of
    /// the app's node on Citus.
    private static let recorded: PostgresSQL = """
        recorded AS (
            INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, token_sha256,
                user_id, previous_user_id, state, generation_before, generation_after)
            SELECT $7, at, $1, install_id, 'reactivated',
                \(literal: TokenEvent.Reason.cleanupUndone.rawValue), \(literal: CleanUpStatements.actor), provider,
                token_sha256, user_id, user_id, state, generation - 1, generation
            FROM changed
        ), counted AS (
            \(sql: RollUpDeltaStatements.insert(from: """
                SELECT topics, cell, CASE WHEN state = 'active' THEN session_expires_at END AS expires_at,
                    (state = 'active')::integer AS active, 0 AS installations, bound
                FROM changed
                """, choices: "r.bound"))
        ), result AS (
            UPDATE cleanup_result SET restored = restored + (SELECT count(*) FROM changed)
            WHERE run_id = $3 AND app_id = $1
        )
        """
}

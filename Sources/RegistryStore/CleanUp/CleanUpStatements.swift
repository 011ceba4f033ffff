import PostgresClient
import PushRegistry

/// The SQL of the night job, `push-registry cleanup`. A run counts the installations that are due (`count`), then reads
/// their keys (`read`), range by range, and writes them in batches (`batch`).
enum CleanUpStatements {
    static let named = [
        NamedStatement("busySessions", busySessions), NamedStatement("stale", stale),
        NamedStatement("unregistered", unregistered), NamedStatement("superseded", superseded),
        NamedStatement("sessionEnded", sessionEnded), NamedStatement("purged", purged),
        NamedStatement("now", serving: "Clean-up: reads the registry's time.", now),
        NamedStatement("apps", serving: "Clean-up: reads the apps and their policies.", apps),
        NamedStatement(
            "count", serving: "Clean-up, plan (R11): counts what is due on some pages, by app and step.",
            count(NamedStatement.pages, bounds([]))),
        NamedStatement(
            "read", serving: "Clean-up (R5, R7, R9, R11): reads what is due on some pages.",
            read(NamedStatement.pages, bounds([]))),
    ]

    static let now: PostgresStatement = "SELECT \(sql: RegistryClockStatements.now)"
    static let apps: PostgresStatement = "SELECT id, identifier, policy::text FROM app ORDER BY identifier"

    /// PostgreSQL hides the state of another role's session from a role without `pg_read_all_stats`. Such a session
    /// counts as busy.
    static let busySessions = PreparedSQL(
        serving: "Clean-up: counts other busy sessions, to slow down for them.",
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND (state = 'active' AND backend_type = 'client backend' OR state IS NULL AND usesysid IS NOT NULL)
        """)

    // MARK: Plan

    /// The apps' bounds as a FROM item named `p`, a row for each app and provider.
    static func bounds(_ bounds: [(app: AppNumber, bounds: CleanUpBounds)]) -> PostgresSQL {
        let rows = bounds.flatMap { app, bounds in Provider.allCases.map { (app, $0, bounds) } }
        return """
            unnest(\(rows.map(\.0.rawValue))::integer[], \(rows.map(\.1.rawValue))::text[]::provider[],
                \(rows.map(\.2.asOf.postgres))::timestamptz[],
                \(rows.map { $2.unseenSince($1).postgres })::timestamptz[],
                \(rows.map(\.2.silentSince.postgres))::timestamptz[],
                \(rows.map(\.2.changedSince.postgres))::timestamptz[])
                AS p (app_id, provider, as_of, unseen_since, silent_since, changed_since)
            """
    }

    /// The step that is due for an installation (R5, R7, R9, R11), by the rules of `CleanUpStep`; NULL if none is. This
    /// is the only definition: a batch writes only rows that have not changed since they were read.
    private static let step: PostgresSQL = """
        CASE
            WHEN i.state NOT IN ('active', 'suspect') AND i.state_changed_at <= p.changed_since THEN 'purged'
            WHEN i.state IN ('active', 'suspect') AND i.probably_replaced_by IS NOT NULL
                AND i.last_seen_at <= p.silent_since THEN 'superseded'
            WHEN i.state = 'suspect' AND greatest(i.last_seen_at, i.state_changed_at) <= p.silent_since
                THEN 'unregistered'
            WHEN i.session_expires_at <= p.as_of THEN 'sessionEnded'
            WHEN i.state = 'active' AND i.last_seen_at <= p.unseen_since THEN 'stale'
        END
        """

    /// Returns, by app and step, the number of installations that are due, and of those that are active or suspect.
    static func count(_ range: PageRange, _ bounds: PostgresSQL) -> PostgresStatement {
        """
        SELECT i.app_id, \(sql: step) AS step, count(*), count(*) FILTER (WHERE i.state IN ('active', 'suspect'))
        FROM installation i JOIN \(sql: bounds) ON p.app_id = i.app_id AND p.provider = i.provider
        WHERE \(sql: range.contains("i"))
        GROUP BY 1, 2
        """
    }

    static func read(_ range: PageRange, _ bounds: PostgresSQL) -> PostgresStatement {
        """
        SELECT i.app_id, \(sql: step) AS step, i.install_id, i.revision
        FROM installation i JOIN \(sql: bounds) ON p.app_id = i.app_id AND p.provider = i.provider
        WHERE \(sql: range.contains("i")) AND \(sql: step) IS NOT NULL
        """
    }

    // MARK: Batch

    /// Writes the step of the installations `$4` of one app that still have the revisions `$5`. An installation that
    /// has registered since keeps its state. The same statement writes the events, the counts and the run's record.
    ///
    /// `$1` is the app, `$2` the time, `$3` the run. The ids are sorted, and the rows are locked in this order.
    static func batch(_ step: CleanUpStep) -> PreparedSQL {
        switch step {
        case .stale: stale
        case .unregistered: unregistered
        case .superseded: superseded
        case .sessionEnded: sessionEnded
        case .purged: purged
        }
    }

    /// The roll-up counts these installations as not active.
    private static let stale = PreparedSQL(
        serving: "Clean-up (R11): writes `stale`.",
        """
        WITH changed AS (
            UPDATE installation i SET state = 'stale', \(sql: stepped)
            FROM \(sql: keys) WHERE \(sql: isUnchanged)
            RETURNING \(sql: kept), i.token_sha256, i.session_expires_at AS expires_at, -1 AS active
        ), \(sql: record(.stale)), \(sql: counted)
        \(sql: result(.stale))
        """)

    private static let unregistered = PreparedSQL(
        serving: "Clean-up (R9): writes `unregistered`.",
        """
        WITH changed AS (
            UPDATE installation i SET state = 'unregistered', \(sql: stepped)
            FROM \(sql: keys) WHERE \(sql: isUnchanged)
            RETURNING \(sql: kept), i.token_sha256
        ), \(sql: record(.unregistered))
        \(sql: result(.unregistered))
        """)

    /// The transaction has locked the tokens.
    private static let superseded = PreparedSQL(
        serving: "Clean-up (R5): writes `superseded`, and keeps the token for an undo.",
        """
        WITH changed AS (
            UPDATE installation i
            SET token = NULL, token_sha256 = NULL, p256dh = NULL, auth = NULL, state = 'superseded', \(sql: stepped)
            FROM \(sql: keys) JOIN installation o ON \(sql: isOld) WHERE \(sql: isUnchanged)
            RETURNING \(sql: kept), \(sql: lost), o.token, o.token_sha256, o.p256dh, o.auth
        ), \(sql: released), \(sql: record(.superseded)), \(sql: counted), preserved AS (
            INSERT INTO cleanup_change AS c (app_id, install_id, run_id, step, generation, previous_state, token,
                token_sha256, p256dh, auth)
            SELECT $1, install_id, $3, 'superseded', generation, previous_state, token, token_sha256, p256dh, auth
            FROM changed
            \(sql: replaceChange)
        )
        \(sql: result(.superseded))
        """)

    private static let sessionEnded = PreparedSQL(
        serving: "Clean-up (R7): ends bindings of expired sessions, and keeps them for an undo.",
        """
        WITH changed AS (
            UPDATE installation i
            SET user_id = NULL, session_id = NULL, session_expires_at = NULL, credential_issued_at = NULL,
                topic_choices = NULL, topics = NULL,
                state = CASE WHEN o.state = 'active' THEN 'loggedOut' ELSE o.state END,
                state_changed_at = CASE WHEN o.state = 'active' THEN \(sql: time) ELSE i.state_changed_at END,
                generation = i.generation + 1, revision = i.revision + 1
            FROM \(sql: keys) JOIN installation o ON \(sql: isOld) WHERE \(sql: isUnchanged)
            RETURNING i.install_id, i.provider, i.token_sha256, i.user_id, o.user_id AS previous_user_id, i.state,
                i.generation, \(sql: time) AS at, i.cell, \(sql: lost), o.session_id, o.session_expires_at,
                o.credential_issued_at, o.topic_choices, o.topics
        ), \(sql: left), \(sql: record(.sessionEnded)), counted AS (
            \(sql: RollUpDelta.insert(from: "SELECT *, 0 AS installations FROM changed", choices: "-1"))
        ), preserved AS (
            INSERT INTO cleanup_change AS c (app_id, install_id, run_id, step, generation, previous_state, session_id,
                session_expires_at, credential_issued_at, topic_choices)
            SELECT $1, install_id, $3, 'sessionEnded', generation, previous_state, session_id, session_expires_at,
                credential_issued_at, topic_choices
            FROM changed
            \(sql: replaceChange)
        )
        \(sql: result(.sessionEnded))
        """)

    /// The transaction has locked the tokens.
    private static let purged = PreparedSQL(
        serving: "Clean-up (R11): deletes installations; their history stays.",
        """
        WITH changed AS (
            DELETE FROM installation i USING \(sql: keys) WHERE \(sql: isUnchanged)
            RETURNING i.install_id, i.provider, i.token_sha256, NULL AS user_id, i.user_id AS previous_user_id, i.state,
                i.generation + 1 AS generation, \(sql: time) AS at, i.cell, i.topics
        ), \(sql: released), \(sql: left), \(sql: record(.purged)), counted AS (
            \(sql: RollUpDelta.insert(from: """
                SELECT topics, cell, NULL::timestamptz AS expires_at, 0 AS active, -1 AS installations FROM changed
                """))
        ), snapshots_deleted AS (
            DELETE FROM settings_snapshot s USING changed c WHERE s.app_id = $1 AND s.install_id = c.install_id
        ), changes_deleted AS (
            DELETE FROM cleanup_change u USING changed c WHERE u.app_id = $1 AND u.install_id = c.install_id
        )
        \(sql: result(.purged))
        """)

    // MARK: Parts of a batch

    private static let keys: PostgresSQL = "unnest($4::text[], $5::bigint[]) AS k (install_id, revision)"
    private static let isUnchanged: PostgresSQL =
        "i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.revision"
    /// The row before the statement.
    private static let isOld: PostgresSQL =
        "o.app_id = $1 AND o.install_id = k.install_id AND o.revision = k.revision"
    /// An installation's times never go back.
    private static let time: PostgresSQL = "greatest(i.state_changed_at, i.last_seen_at, $2)"
    private static let stepped: PostgresSQL = """
        generation = i.generation + 1, revision = i.revision + 1, state_changed_at = \(sql: time)
        """
    /// For a step that keeps the owner.
    private static let kept: PostgresSQL = """
        i.install_id, i.provider, i.user_id, i.user_id AS previous_user_id, i.state, i.generation,
                i.state_changed_at AS at, i.cell, i.topics
        """
    /// The counts that the roll-up loses.
    private static let lost: PostgresSQL = """
        o.state AS previous_state, CASE WHEN o.state = 'active' THEN o.session_expires_at END AS expires_at,
                CASE WHEN o.state = 'active' THEN -1 ELSE 0 END AS active
        """

    private static let released: PostgresSQL = """
        released AS (
            UPDATE token_holder h SET install_id = NULL FROM changed c
            WHERE h.app_id = $1 AND h.provider = c.provider AND h.token_sha256 = c.token_sha256
        )
        """

    private static let left: PostgresSQL = """
        left_behind AS (
            UPDATE installation_owner w SET left_at = c.at FROM changed c
            WHERE w.app_id = $1 AND w.user_id = c.previous_user_id AND w.install_id = c.install_id
        )
        """

    private static func record(_ step: CleanUpStep) -> PostgresSQL {
        """
        recorded AS (
            INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, token_sha256,
                user_id, previous_user_id, state, generation_before, generation_after)
            SELECT (SELECT \(sql: EventStatements.position)), at, $1, install_id, \(literal: step.event.rawValue),
                \(literal: step.reason.rawValue), \(literal: actor), provider, token_sha256, user_id, previous_user_id,
                state, generation - 1, generation
            FROM changed
        )
        """
    }

    private static let counted: PostgresSQL = """
        counted AS (
            \(sql: RollUpDelta.insert(from: "SELECT *, 0 AS installations FROM changed"))
        )
        """

    private static let replaceChange: PostgresSQL = """
        ON CONFLICT (app_id, install_id) DO UPDATE
            SET run_id = excluded.run_id, step = excluded.step, generation = excluded.generation,
                previous_state = excluded.previous_state, token = excluded.token, token_sha256 = excluded.token_sha256,
                p256dh = excluded.p256dh, auth = excluded.auth, session_id = excluded.session_id,
                session_expires_at = excluded.session_expires_at, credential_issued_at = excluded.credential_issued_at,
                topic_choices = excluded.topic_choices
        """

    private static func result(_ step: CleanUpStep) -> PostgresSQL {
        let column = PostgresSQL(identifier: step.column)
        return """
            UPDATE cleanup_result SET \(sql: column) = \(sql: column) + (SELECT count(*) FROM changed)
            WHERE run_id = $3 AND app_id = $1
            """
    }

    /// The actor of the events.
    static let actor = "job:cleanup"
}

extension CleanUpStep {
    /// In `cleanup_result`.
    var column: String {
        self == .sessionEnded ? "session_ended" : rawValue
    }

    /// Whether the installation gives up its token.
    var releasesToken: Bool { self == .superseded || self == .purged }
}

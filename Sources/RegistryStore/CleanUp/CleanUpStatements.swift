import PostgresClient
import PushRegistry

/// The SQL of the night job. A run first counts what is due, and where (`read`), and then goes through those stretches of the table in
/// batches, each of which holds every row to the same rules again, locked.
enum CleanUpStatements {
    /// What is due, by the rules of `CleanUpStep`; NULL where nothing is. The one definition, for counting and for doing: `i` is an
    /// installation and `p` the bounds of its app and provider.
    private static let step: PostgresSQL = """
        CASE
            WHEN i.state NOT IN ('active', 'suspect') AND i.state_changed_at <= p.changed_since THEN 'purged'
            WHEN i.state IN ('active', 'suspect') AND i.probably_replaced_by IS NOT NULL
                AND i.last_seen_at <= p.silent_since THEN 'superseded'
            WHEN i.state = 'suspect' AND greatest(i.last_seen_at, i.state_changed_at) <= p.silent_since THEN 'unregistered'
            WHEN i.session_expires_at <= p.as_of THEN 'sessionEnded'
            WHEN i.state = 'active' AND i.last_seen_at <= p.unseen_since THEN 'stale'
        END
        """

    static let now: PostgresStatement = "SELECT clock_timestamp()"
    static let apps: PostgresStatement = "SELECT id, identifier, policy::text FROM app ORDER BY id"

    // MARK: Plan

    static let createBounds: PostgresStatement = """
        CREATE TEMPORARY TABLE cleanup_bounds (
            app_id integer, provider provider, as_of timestamptz, unseen_since timestamptz, silent_since timestamptz,
            changed_since timestamptz, logged_out_since timestamptz, PRIMARY KEY (app_id, provider))
        """

    static func addBounds(_ bounds: [(app: AppNumber, bounds: CleanUpBounds)]) -> PostgresStatement {
        let rows = bounds.flatMap { app, bounds in Provider.allCases.map { (app, $0, bounds) } }
        return """
            INSERT INTO cleanup_bounds
            SELECT k.app_id, k.provider::provider, k.as_of, k.unseen_since, k.silent_since, k.changed_since, k.logged_out_since
            FROM unnest(\(rows.map(\.0.rawValue))::integer[], \(rows.map(\.1.rawValue))::text[],
                \(rows.map(\.2.asOf.postgres))::timestamptz[], \(rows.map { $2.unseenSince($1).postgres })::timestamptz[],
                \(rows.map(\.2.silentSince.postgres))::timestamptz[],
                \(rows.map(\.2.changedSince.postgres))::timestamptz[],
                \(rows.map(\.2.loggedOutSince.postgres))::timestamptz[])
                AS k (app_id, provider, as_of, unseen_since, silent_since, changed_since, logged_out_since)
            """
    }

    /// How many are due on these pages, by block, app and step; in the order of blocks.
    static func read(_ pages: TablePages) -> PostgresStatement {
        """
        SELECT \(sql: TablePages.number("i")) / \(CleanUpStretches.pagesPerBlock), i.app_id, \(sql: step), count(*)
        FROM installation i JOIN cleanup_bounds p ON p.app_id = i.app_id AND p.provider = i.provider
        WHERE \(sql: pages.hold("i")) AND \(sql: step) IS NOT NULL
        GROUP BY 1, 2, 3 ORDER BY 1
        """
    }

    /// Active and suspect installations, from the roll-up, which is exact (R13).
    static let inUse: PostgresStatement = """
        SELECT app_id, sum(count)::bigint
        FROM (
            SELECT app_id, count FROM rollup_cell WHERE level = 31 AND state IN ('active', 'suspect')
            UNION ALL
            SELECT app_id, count FROM rollup_pending WHERE state IN ('active', 'suspect')) AS c
        GROUP BY app_id
        """

    /// Without bounds nothing of an app is due, be it an installation or a logout.
    static func withhold(_ apps: [Int32]) -> PostgresStatement {
        "DELETE FROM cleanup_bounds WHERE app_id = ANY (\(apps))"
    }

    // MARK: Batch

    /// A stretch of the table: locks what is due there, in the order of registrations, changes it, and tells it.
    ///
    /// The rows have been locked by the time that they are changed. Of one that somebody changed meanwhile, PostgreSQL tests the newest
    /// version against the conditions again (EvalPlanQual), so that whoever registered is left alone.
    static func batch(of run: Int32, on pages: TablePages) -> PostgresStatement {
        """
        WITH due AS MATERIALIZED (
            SELECT i.app_id, i.install_id, i.provider, i.state, i.generation, i.token, i.token_sha256, i.p256dh, i.auth, i.user_id,
                i.session_id, i.session_expires_at, i.credential_issued_at, \(sql: step) AS step
            FROM installation i JOIN cleanup_bounds p ON p.app_id = i.app_id AND p.provider = i.provider
            WHERE \(sql: pages.hold("i")) AND \(sql: step) IS NOT NULL
            ORDER BY i.app_id, i.install_id
            FOR UPDATE OF i
        ), changed AS (
            \(sql: change)
        ), removed AS (
            DELETE FROM installation i USING due d
            WHERE i.app_id = d.app_id AND i.install_id = d.install_id AND d.step = 'purged'
        ), forgotten AS (
            DELETE FROM settings_snapshot s USING due d
            WHERE s.app_id = d.app_id AND s.install_id = d.install_id AND d.step = 'purged'
        ), told AS (
            \(sql: tell)
        ), kept AS (
            \(sql: keep(run))
        ), counted AS (
            SELECT app_id, \(sql: namedCountsByStep) FROM due GROUP BY app_id
        )
        UPDATE cleanup_result r
        SET superseded = r.superseded + c.superseded, unregistered = r.unregistered + c.unregistered,
            session_ended = r.session_ended + c.session_ended, stale = r.stale + c.stale, purged = r.purged + c.purged
        FROM counted c WHERE r.run_id = \(run) AND r.app_id = c.app_id
        """
    }

    private static let namedCountsByStep = CleanUpStep.allCases
        .map { "count(*) FILTER (WHERE step = \(literal: $0.rawValue)) AS \(identifier: $0.column)" as PostgresSQL }
        .joined(separator: ", ")

    private static let change: PostgresSQL = """
        UPDATE installation i
        SET state = CASE
                WHEN d.step <> 'sessionEnded' THEN d.step::installation_state
                WHEN i.state = 'active' THEN 'loggedOut' ELSE i.state END,
            generation = i.generation + 1,
            state_changed_at = CASE WHEN d.step = 'sessionEnded' AND i.state <> 'active' THEN i.state_changed_at
                ELSE clock_timestamp() END,
            token = CASE WHEN d.step <> 'superseded' THEN i.token END,
            token_sha256 = CASE WHEN d.step <> 'superseded' THEN i.token_sha256 END,
            p256dh = CASE WHEN d.step <> 'superseded' THEN i.p256dh END,
            auth = CASE WHEN d.step <> 'superseded' THEN i.auth END,
            user_id = CASE WHEN d.step <> 'sessionEnded' THEN i.user_id END,
            session_id = CASE WHEN d.step <> 'sessionEnded' THEN i.session_id END,
            session_expires_at = CASE WHEN d.step <> 'sessionEnded' THEN i.session_expires_at END,
            credential_issued_at = CASE WHEN d.step <> 'sessionEnded' THEN i.credential_issued_at END
        FROM due d
        WHERE i.app_id = d.app_id AND i.install_id = d.install_id AND d.step <> 'purged'
        RETURNING i.app_id, i.install_id, d.step, i.provider, d.token_sha256, i.user_id, d.user_id AS previous_user_id, i.state,
            i.generation
        """

    private static let tell: PostgresSQL = """
        INSERT INTO token_event (at, app_id, install_id, event, reason, actor, provider, token_sha256, user_id,
            previous_user_id, state, generation_before, generation_after)
        SELECT clock_timestamp(), app_id, install_id, (\(sql: words { $0.event.rawValue }))::event_kind,
            \(sql: words { $0.reason.rawValue }), \(literal: actor), provider, token_sha256, user_id, previous_user_id, state,
            generation - 1, generation
        FROM (
            SELECT * FROM changed
            UNION ALL
            SELECT app_id, install_id, step, provider, token_sha256, NULL, user_id, state, generation + 1
            FROM due WHERE step = 'purged') AS c
        """

    /// What `cleanup undo` needs.
    private static func keep(_ run: Int32) -> PostgresSQL {
        """
        INSERT INTO cleanup_change AS c (app_id, install_id, run_id, step, generation, previous_state, token, token_sha256,
            p256dh, auth, session_id, session_expires_at, credential_issued_at)
        SELECT d.app_id, d.install_id, \(run), d.step, d.generation + 1, d.state,
            CASE WHEN d.step = 'superseded' THEN d.token END, CASE WHEN d.step = 'superseded' THEN d.token_sha256 END,
            CASE WHEN d.step = 'superseded' THEN d.p256dh END, CASE WHEN d.step = 'superseded' THEN d.auth END,
            CASE WHEN d.step = 'sessionEnded' THEN d.session_id END,
            CASE WHEN d.step = 'sessionEnded' THEN d.session_expires_at END,
            CASE WHEN d.step = 'sessionEnded' THEN d.credential_issued_at END
        FROM due d WHERE d.step <> 'purged'
        ON CONFLICT (app_id, install_id) DO UPDATE
        SET run_id = excluded.run_id, step = excluded.step, generation = excluded.generation,
            previous_state = excluded.previous_state, token = excluded.token, token_sha256 = excluded.token_sha256,
            p256dh = excluded.p256dh, auth = excluded.auth, session_id = excluded.session_id,
            session_expires_at = excluded.session_expires_at, credential_issued_at = excluded.credential_issued_at
        """
    }

    /// A word for each step.
    private static func words(_ word: (CleanUpStep) -> String) -> PostgresSQL {
        let cases = CleanUpStep.allCases
            .map { "WHEN \(literal: $0.rawValue) THEN \(literal: word($0))" as PostgresSQL }
        return "CASE step \(sql: cases.joined(separator: " ")) END"
    }

    /// Who the events say it was.
    static let actor = "job:cleanup"
}

extension CleanUpStep {
    /// In `cleanup_result`.
    var column: String {
        self == .sessionEnded ? "session_ended" : rawValue
    }
}

import PostgresClient
import PushRegistry

/// The SQL of the night job. A run first counts what is due, and where (`read`), and then goes through those stretches of the table in
/// batches, each of which holds every row to the same rules again, locked.
enum CleanUpStatements {
    /// What is due, by the rules of `CleanUpStep`; NULL where nothing is. The one definition, for counting and for doing.
    ///
    /// - Parameters:
    ///   - i: an installation.
    ///   - p: what has the bounds of its app and provider.
    private static func step(of i: PostgresSQL, by p: PostgresSQL) -> PostgresSQL {
        """
        CASE
            WHEN \(sql: i).state NOT IN ('active', 'suspect') AND \(sql: i).state_changed_at <= \(sql: p).changed_since THEN 'purged'
            WHEN \(sql: i).state IN ('active', 'suspect') AND \(sql: i).probably_replaced_by IS NOT NULL
                AND \(sql: i).last_seen_at <= \(sql: p).silent_since THEN 'superseded'
            WHEN \(sql: i).state = 'suspect'
                AND greatest(\(sql: i).last_seen_at, \(sql: i).state_changed_at) <= \(sql: p).silent_since THEN 'unregistered'
            WHEN \(sql: i).session_expires_at <= \(sql: p).as_of THEN 'sessionEnded'
            WHEN \(sql: i).state = 'active' AND \(sql: i).last_seen_at <= \(sql: p).unseen_since THEN 'stale'
        END
        """
    }

    private static let step = step(of: "i", by: "p")

    static let now: PostgresStatement = "SELECT clock_timestamp()"
    static let apps: PostgresStatement = "SELECT id, identifier, policy::text FROM app ORDER BY identifier"

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
            SELECT app_id, installations AS count FROM rollup_cell_128 WHERE state IN ('active', 'suspect')
            UNION ALL
            SELECT app_id, count FROM rollup_pending WHERE state IN ('active', 'suspect')) AS c
        GROUP BY app_id
        """

    /// Without bounds nothing of an app is due, be it an installation or a logout.
    static func withhold(_ apps: [Int32]) -> PostgresStatement {
        "DELETE FROM cleanup_bounds WHERE app_id = ANY (\(apps))"
    }

    // MARK: Batch

    /// A stretch of the table: changes what is due there and removes what is, each in the order in which registrations lock, and tells it.
    ///
    /// A row that somebody holds is waited for, and if it was changed its newest version is held to the rules again (PostgreSQL's
    /// EvalPlanQual): whoever registered is left alone. All that is told is told of rows that were changed.
    static func batch(of run: Int32, on pages: TablePages) -> PostgresStatement {
        """
        WITH due AS MATERIALIZED (
            SELECT i.ctid AS place, i.state, i.generation, i.token, i.token_sha256, i.p256dh, i.auth, i.user_id, i.session_id,
                i.session_expires_at, i.credential_issued_at, p.*, \(sql: step) AS step
            FROM installation i JOIN cleanup_bounds p ON p.app_id = i.app_id AND p.provider = i.provider
            WHERE \(sql: pages.hold("i")) AND \(sql: step) IS NOT NULL
            ORDER BY i.app_id, i.install_id
        ), changed AS (
            \(sql: change)
        ), removed AS (
            DELETE FROM installation i USING due d WHERE d.step = 'purged' AND \(sql: isStillDue)
            RETURNING i.app_id, i.install_id, d.step, i.provider, i.token_sha256, i.user_id, i.state, i.generation
        ), forgotten AS (
            DELETE FROM settings_snapshot s USING removed r
            WHERE s.app_id = r.app_id AND s.install_id = r.install_id
        ), told AS (
            \(sql: tell)
        ), kept AS (
            \(sql: keep(run))
        ), counted AS (
            SELECT app_id, \(sql: namedCountsByStep)
            FROM (SELECT app_id, step FROM changed UNION ALL SELECT app_id, step FROM removed) AS done GROUP BY app_id
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
        FROM due d WHERE d.step <> 'purged' AND \(sql: isStillDue)
        RETURNING i.app_id, i.install_id, i.provider, i.user_id, i.state, i.generation, d.step, d.state AS previous_state,
            d.user_id AS previous_user_id, d.token, d.token_sha256, d.p256dh, d.auth, d.session_id, d.session_expires_at,
            d.credential_issued_at
        """

    private static let isStillDue: PostgresSQL = """
        i.ctid = d.place AND i.generation = d.generation AND \(sql: step(of: "i", by: "d")) = d.step
        """

    private static let tell: PostgresSQL = """
        INSERT INTO token_event (at, app_id, install_id, event, reason, actor, provider, token_sha256, user_id,
            previous_user_id, state, generation_before, generation_after)
        SELECT clock_timestamp(), app_id, install_id, (\(sql: words { $0.event.rawValue }))::event_kind,
            \(sql: words { $0.reason.rawValue }), \(literal: actor), provider, token_sha256, user_id, previous_user_id, state,
            generation - 1, generation
        FROM (
            SELECT app_id, install_id, step, provider, token_sha256, user_id, previous_user_id, state, generation FROM changed
            UNION ALL
            SELECT app_id, install_id, step, provider, token_sha256, NULL, user_id, state, generation + 1 FROM removed) AS c
        """

    /// What `cleanup undo` needs.
    private static func keep(_ run: Int32) -> PostgresSQL {
        """
        INSERT INTO cleanup_change AS c (app_id, install_id, run_id, step, generation, previous_state, token, token_sha256,
            p256dh, auth, session_id, session_expires_at, credential_issued_at)
        SELECT app_id, install_id, \(run), step, generation, previous_state,
            CASE WHEN step = 'superseded' THEN token END, CASE WHEN step = 'superseded' THEN token_sha256 END,
            CASE WHEN step = 'superseded' THEN p256dh END, CASE WHEN step = 'superseded' THEN auth END,
            CASE WHEN step = 'sessionEnded' THEN session_id END,
            CASE WHEN step = 'sessionEnded' THEN session_expires_at END,
            CASE WHEN step = 'sessionEnded' THEN credential_issued_at END
        FROM changed
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

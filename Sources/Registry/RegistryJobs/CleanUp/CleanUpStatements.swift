import PostgresClient
import PushRegistry
import RegistryStore

/// The SQL of the night job, `push-registry cleanup`. A run reads which installations are due, range by range (`read`),
/// and writes them in batches (`batch`).
enum CleanUpStatements {
    /// Clean-up: reads the time.
    static let now: PostgresStatement = "SELECT clock_timestamp()"
    /// Clean-up: reads the apps and their policies.
    static let apps: PostgresStatement =
        "SELECT id, identifier, policy::text FROM app WHERE deleting_since IS NULL ORDER BY identifier"

    /// A session is busy if it executes a statement or ended one in the last 100 ms: sessions that execute thousands a
    /// second are idle in between. The background sessions of services do not count: they poll. PostgreSQL hides the
    /// state of another role's session from a role without `pg_read_all_stats`; such a session counts as busy.
    static let busySessions = PreparedSQL(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND application_name IS DISTINCT FROM \(literal: BackgroundSession.name)
            AND (state IS NULL AND usesysid IS NOT NULL OR backend_type = 'client backend'
                AND (state = 'active' OR state_change > clock_timestamp() - interval '100 milliseconds'))
        """)

    // MARK: Settings, as scripts

    /// A batch that meets a locked row waits this long, and its neighbours with it. Then it is tried again.
    static let sessionSettings =
        "SET lock_timeout = '200ms'; SET jit = off; SET max_parallel_workers_per_gather = 0"

    /// On Citus: `SET LOCAL` reaches the other nodes, and a node that hangs counts as away after this time.
    static let sessionSettingsOnCitus =
        "SET citus.propagate_set_commands = 'local'; SET statement_timeout = '60s'"

    /// A batch must find its rows by place and key, also if the planner's statistics of a growing table are old.
    static let writeSettings = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"

    /// Clean-up: resets this before the next pages are read.
    static let readSettings = "RESET enable_seqscan; RESET enable_hashjoin; RESET enable_mergejoin"

    /// Reaches the session on the node that has the app.
    static let batchSettingsOnCitus = "SET LOCAL lock_timeout = '200ms'"

    // MARK: Plan

    /// Clean-up: reads how many pages a table has.
    static func countPages(of table: String) -> PostgresStatement {
        "SELECT pg_relation_size(\(table)::text::regclass) / current_setting('block_size')::bigint"
    }

    /// Clean-up, on Citus: reads how many pages the shard of some apps has.
    static func countPagesOfShard(of table: String, _ apps: [AppNumber]) -> PostgresStatement {
        """
        SELECT pg_relation_size(tableoid) / current_setting('block_size')::bigint FROM \(identifier: table)
        WHERE app_id = ANY (\(apps.map(\.rawValue))::integer[]) LIMIT 1
        """
    }

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

    /// Returns, by app and step (NULL: none is due), the number of installations, the number of those that are active
    /// or suspect, and of the due ones the ids, revisions, places and cells.
    static func read(_ range: PageRange, _ bounds: PostgresSQL, withKeys: Bool) -> PostgresStatement {
        """
        SELECT d.app_id, d.step, count(*), count(*) FILTER (WHERE d.state IN ('active', 'suspect')),
            array_agg(d.install_id) FILTER (WHERE d.step IS NOT NULL AND \(withKeys)),
            array_agg(d.revision) FILTER (WHERE d.step IS NOT NULL AND \(withKeys)),
            array_agg(d.place::text) FILTER (WHERE d.step IS NOT NULL AND \(withKeys)),
            array_agg(d.cell) FILTER (WHERE d.step IS NOT NULL AND \(withKeys))
        FROM (
            SELECT i.app_id, i.state, i.install_id, i.revision, i.ctid AS place, i.cell, \(sql: step) AS step
            FROM installation i JOIN \(sql: bounds) ON p.app_id = i.app_id AND p.provider = i.provider
            WHERE \(sql: range.contains("i"))
            OFFSET 0) AS d
        GROUP BY d.app_id, d.step
        """
    }

    /// Returns the same of stale and unregistered installations whose last event is of a run; the step is their state.
    /// Runs do not overlap in time.
    static func readJudged(
        _ range: PageRange, from start: PostgresTimestamp, to end: PostgresTimestamp
    ) -> PostgresStatement {
        """
        SELECT i.app_id, i.state::text, count(*), 0::bigint, array_agg(i.install_id), array_agg(i.revision),
            array_agg(i.ctid::text), array_agg(i.cell)
        FROM installation i
        WHERE \(sql: range.contains("i")) AND i.state IN ('stale', 'unregistered')
            AND i.state_changed_at >= \(start) AND i.state_changed_at <= \(end)
            AND EXISTS (
                SELECT FROM token_event e
                WHERE e.app_id = i.app_id AND e.install_id = i.install_id AND e.generation_after = i.generation
                    AND e.actor = \(literal: actor))
        GROUP BY 1, 2
        """
    }

    // MARK: Batch

    /// Reads the installations `$2` of the app `$1` that still have the revisions `$3`, at their places `$4`. An
    /// installation that has registered since keeps its state.
    static let batch = PreparedSQL(
        "SELECT \(sql: InstallationColumns.list) FROM \(sql: unchanged(from: 2))")

    /// A FROM item: the rows of `installation` that have not changed since they were read.
    private static func unchanged(from first: Int) -> PostgresSQL {
        let arrays = PostgresSQL(
            trusted: "unnest($\(first)::text[], $\(first + 1)::bigint[], $\(first + 2)::text[]::tid[])")
        return """
            \(sql: arrays) AS k (install_id, revision, place)
            JOIN installation i ON i.ctid = k.place AND i.app_id = $1 AND i.install_id = k.install_id
                AND i.revision = k.revision
            """
    }

    /// The actor of the events.
    static let actor = "job:cleanup"
}

extension CleanUpStep {
    /// Whether the installation gives up its token.
    var releasesToken: Bool { self == .superseded || self == .purged }
}

/// The session of a service's background work, which folds. It polls several times a second, also in an idle service.
public enum BackgroundSession {
    /// As `application_name`.
    public static let name = "push-registry background"
}

import Crypto
import PostgresClient
import PushRegistry

/// The SQL of an import. Lines are copied into a table of the session, from which one statement takes what is new.
enum ImportStatements {
    static let binding = BatchColumns<ImportedInstallation>([
        .init("install_id", "text") { $0.installID.rawValue },
        .init("provider", "text", cast: "provider") { $0.token.provider.rawValue },
        .init("token", "text") { $0.token.text },
        .init("token_sha256", "bytea") { sha256($0.token.text) },
        .init("p256dh", "text") { $0.keys?.p256dh },
        .init("auth", "text") { $0.keys?.auth },
        .init("user_id", "text") { $0.userID?.rawValue },
        .init("session_id", "text") { $0.session?.id.rawValue },
        .init("session_expires_at", "timestamptz") { $0.session?.expiresAt?.postgres },
        .init("generation", "bigint") { $0.generation },
        .init("created_at", "timestamptz") { $0.createdAt?.postgres },
        .init("last_seen_at", "timestamptz") { $0.lastSeenAt?.postgres },
    ])
    private static let snapshot = SnapshotColumns.batch.list
    private static let columns = binding.list + snapshot

    private static func sha256(_ text: String) -> [UInt8] {
        var hash = SHA256()
        var text = text
        text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return Array(hash.finalize())
    }

    static let makeTable = PostgresStatement(
        "CREATE TEMPORARY TABLE imported AS SELECT \(sql: columns.names) FROM installation WITH NO DATA")

    static let copy = PostgresStatement("COPY imported (\(sql: columns.names)) FROM STDIN (FORMAT binary)")

    static let empty = PostgresStatement("TRUNCATE imported")

    /// R7: who binds an installation to a user holds the user's row, as a registration does.
    static func addUsers(_ app: AppNumber) -> PostgresStatement {
        """
        INSERT INTO user_guard (app_id, user_sha256)
        SELECT DISTINCT \(app.rawValue), user_digest(user_id) FROM imported WHERE user_id IS NOT NULL ORDER BY 1, 2
        ON CONFLICT DO NOTHING
        """
    }

    /// R7: likewise the row of its session, after the users' rows.
    static func addSessions(_ app: AppNumber) -> PostgresStatement {
        """
        INSERT INTO session (app_id, session_id, user_sha256)
        SELECT DISTINCT ON (session_id) \(app.rawValue), session_id, user_digest(user_id)
        FROM imported WHERE session_id IS NOT NULL ORDER BY session_id
        ON CONFLICT DO NOTHING
        """
    }

    /// How many sessions there are, and of how many it holds the row.
    static func shareSessions(_ app: AppNumber) -> PostgresStatement {
        """
        WITH named AS MATERIALIZED (
            SELECT DISTINCT session_id FROM imported WHERE session_id IS NOT NULL ORDER BY session_id
        ), shared AS MATERIALIZED (
            SELECT s.session_id
            FROM named n
            CROSS JOIN LATERAL (
                SELECT session_id FROM session
                WHERE app_id = \(app.rawValue) AND session_id = n.session_id LIMIT 1 FOR SHARE) AS s)
        SELECT (SELECT count(*) FROM named), (SELECT count(*) FROM shared)
        """
    }

    /// How many users there are, and of how many it holds the row. One look-up for each user: what the planner believes of a table that is growing might have it read all users for each.
    static func shareUsers(_ app: AppNumber) -> PostgresStatement {
        """
        WITH named AS MATERIALIZED (
            SELECT DISTINCT user_digest(user_id) AS user_sha256 FROM imported WHERE user_id IS NOT NULL ORDER BY 1
        ), shared AS MATERIALIZED (
            SELECT u.user_sha256
            FROM named n
            CROSS JOIN LATERAL (
                SELECT user_sha256 FROM user_guard
                WHERE app_id = \(app.rawValue) AND user_sha256 = n.user_sha256 LIMIT 1 FOR SHARE) AS u)
        SELECT (SELECT count(*) FROM named), (SELECT count(*) FROM shared)
        """
    }

    /// R1: what the registry holds already stays as it is, be it the installation or the token. In the order of keys, as
    /// registrations lock.
    ///
    /// The digests are of nothing, which no registration says: the first one is a change, and begins the history of settings. Times to
    /// come count as now, and the order of times is that of the table's invariants. A generation begins at its own microsecond, above
    /// all that an installation of this id can have had here.
    static func merge(_ app: AppNumber) -> PostgresStatement {
        """
        WITH written AS (
            INSERT INTO installation (app_id, install_id, provider, token, token_sha256, p256dh, auth, user_id,
                session_id, session_expires_at, state, generation, registration_generation, created_at, registered_at,
                last_seen_at, state_changed_at,
                registration_digest, snapshot_digest, \(sql: snapshot.names))
            SELECT \(app.rawValue), install_id, provider, token, token_sha256, p256dh, auth, user_id,
                session_id, session_expires_at, 'active'::installation_state, first_generation, first_generation,
                least(created_at, seen_at), seen_at, seen_at,
                now(), ''::bytea, ''::bytea, \(sql: snapshot.names)
            FROM \(sql: wanted(app))
            ORDER BY install_id
            ON CONFLICT DO NOTHING
            RETURNING install_id, provider, token_sha256, user_id, generation)
        INSERT INTO token_event (app_id, install_id, event, reason, actor, at, provider, token_sha256, user_id, state,
            generation_before, generation_after)
        SELECT \(app.rawValue), install_id, 'imported'::event_kind, 'imported', \(actor), now(), provider, token_sha256,
            user_id, 'active'::installation_state, 0, generation
        FROM written
        """
    }

    /// R7: a user who was logged out everywhere, or erased, after the line was true stays so; of a line without a time
    /// nobody knows. A session that ended stays ended.
    private static func wanted(_ app: AppNumber) -> PostgresSQL {
        """
        (SELECT *, least(last_seen_at, now()) AS seen_at, greatest(generation,
                (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS first_generation
            FROM imported
            WHERE NOT \(sql: isRefused(app))) AS wanted
        """
    }

    private static func isRefused(_ app: AppNumber) -> PostgresSQL {
        """
        (coalesce((
            SELECT refused_before FROM user_guard
            WHERE app_id = \(app.rawValue) AND user_sha256 = user_digest(imported.user_id)), '-infinity')
        > CASE WHEN imported.last_seen_at IS NULL THEN '-infinity' ELSE least(imported.last_seen_at, now()) END
        OR EXISTS (
            SELECT FROM session s
            WHERE s.app_id = \(app.rawValue) AND s.session_id = imported.session_id AND s.ended_at IS NOT NULL))
        """
    }

    /// A look-up for each line, and not a join, for the same reason.
    private static func isPresent(_ app: AppNumber) -> PostgresSQL {
        """
        ((SELECT true FROM installation WHERE app_id = \(app.rawValue) AND install_id = imported.install_id) IS NOT NULL)
        """
    }

    /// Of how many lines the installation is there.
    static func present(_ app: AppNumber) -> PostgresStatement {
        "SELECT count(*) FROM imported WHERE \(sql: isPresent(app))"
    }

    /// Of how many lines the installation is there, and of how many others something forbids it. Changes nothing.
    static func preview(_ app: AppNumber) -> PostgresStatement {
        """
        SELECT count(*) FILTER (WHERE is_present), count(*) FILTER (WHERE is_forbidden AND NOT is_present)
        FROM (
            SELECT \(sql: isPresent(app)) AS is_present,
                (SELECT true FROM installation i
                    WHERE i.app_id = \(app.rawValue) AND i.provider = imported.provider
                        AND i.token_sha256 = imported.token_sha256) IS NOT NULL
                    OR \(sql: isRefused(app)) AS is_forbidden
            FROM imported) AS line
        """
    }

    /// As `actor` of the events.
    private static let actor = "job:import"
}

import PostgresClient
import PushRegistry

/// The SQL of R7: the rows of users and sessions, where registrations and logouts meet. Whoever locks several of them does
/// so in the order of their keys, users first, and installations only after them.
enum GuardStatements {
    static let addUsers = PreparedSQL(
        """
        INSERT INTO user_guard (app_id, user_sha256)
        SELECT DISTINCT k.app_id, user_digest(k.user_id) FROM unnest($1::integer[], $2::text[]) AS k (app_id, user_id)
        ORDER BY 1, 2
        ON CONFLICT DO NOTHING
        """)

    static let addSessions = PreparedSQL(
        """
        INSERT INTO session (app_id, session_id, user_sha256)
        SELECT DISTINCT ON (k.app_id, k.session_id) k.app_id, k.session_id, user_digest(k.user_id)
        FROM unnest($1::integer[], $2::text[], $3::text[]) AS k (app_id, user_id, session_id)
        WHERE k.session_id IS NOT NULL
        ORDER BY k.app_id, k.session_id
        ON CONFLICT DO NOTHING
        """)

    static let shareUsers = PreparedSQL(
        """
        SELECT k.app_id, k.user_id, u.refused_before
        FROM (SELECT DISTINCT app_id, user_id FROM unnest($1::integer[], $2::text[]) AS k (app_id, user_id)) AS k
        JOIN user_guard u ON u.app_id = k.app_id AND u.user_sha256 = user_digest(k.user_id)
        ORDER BY u.app_id, u.user_sha256
        FOR SHARE OF u
        """)

    static let shareSessions = PreparedSQL(
        """
        SELECT s.app_id, s.session_id, s.ended_at, s.kept_at
        FROM (SELECT DISTINCT app_id, session_id FROM unnest($1::integer[], $2::text[]) AS k (app_id, session_id)) AS k
        JOIN session s USING (app_id, session_id)
        ORDER BY s.app_id, s.session_id
        FOR SHARE OF s
        """)

    /// Read after the installations are locked, which is what a logout of one needs.
    static let installationLogouts = PreparedSQL(
        """
        SELECT l.app_id, l.install_id, k.user_id, l.session_id, l.logged_out_at
        FROM unnest($1::integer[], $2::text[], $3::text[], $4::text[]) AS k (app_id, install_id, user_id, session_id)
        JOIN installation_logout l ON l.app_id = k.app_id AND l.install_id = k.install_id
            AND l.user_sha256 = user_digest(k.user_id) AND l.session_id IN ('', coalesce(k.session_id, ''))
        """)

    /// A session that was never seen is ended as well, and one that was ended long ago anew: that may be forgotten by now.
    static let endSessions = PreparedSQL(
        """
        INSERT INTO session AS s (app_id, session_id, ended_at)
        SELECT DISTINCT $1::integer, k.session_id, clock_timestamp() FROM unnest($2::text[]) AS k (session_id)
        ORDER BY k.session_id
        ON CONFLICT (app_id, session_id) DO UPDATE SET ended_at = excluded.ended_at
        WHERE s.ended_at IS NULL OR s.ended_at < now()
        """)

    /// Credentials from before now are refused. It has the user's row alone from here to the commit.
    static let refuseUser = PreparedSQL(
        """
        INSERT INTO user_guard (app_id, user_sha256, refused_before)
        VALUES ($1, user_digest($2), clock_timestamp())
        ON CONFLICT (app_id, user_sha256) DO UPDATE SET refused_before = excluded.refused_before
        """)

    /// The sessions that were first seen with the user, but the one of `$3`.
    static let endSessionsOfUser = PreparedSQL(
        """
        WITH ending AS MATERIALIZED (
            SELECT s.app_id, s.session_id FROM session s
            WHERE s.app_id = $1 AND s.user_sha256 = user_digest($2) AND s.ended_at IS NULL
                AND s.session_id IS DISTINCT FROM $3
            ORDER BY s.app_id, s.session_id
            FOR UPDATE)
        UPDATE session s SET ended_at = clock_timestamp() FROM ending e
        WHERE s.app_id = e.app_id AND s.session_id = e.session_id
        """)

    /// The session of `$3`, seen or not, is excepted from what `refuseUser` did just before.
    static let keepSession = PreparedSQL(
        """
        INSERT INTO session (app_id, session_id, user_sha256, kept_at)
        VALUES ($1, $3, user_digest($2), clock_timestamp())
        ON CONFLICT (app_id, session_id) DO UPDATE SET kept_at = excluded.kept_at
        """)

    /// Installations' own logouts. A later one of the same credential concerns more credentials.
    static func remembering(_ signOuts: [SignOuts.OnInstallation], at now: Timestamp) -> PostgresStatement {
        PostgresStatement(
            addInstallationLogouts, signOuts.map(\.key.app.rawValue), signOuts.map(\.key.installID.rawValue),
            signOuts.map(\.userID.rawValue), signOuts.map { $0.sessionID?.rawValue ?? "" }, now.postgres)
    }

    private static let addInstallationLogouts = PreparedSQL(
        """
        INSERT INTO installation_logout (app_id, install_id, user_sha256, session_id, logged_out_at)
        SELECT k.app_id, k.install_id, user_digest(k.user_id), k.session_id, $5
        FROM unnest($1::integer[], $2::text[], $3::text[], $4::text[]) AS k (app_id, install_id, user_id, session_id)
        ON CONFLICT (app_id, install_id, user_sha256, session_id) DO UPDATE SET logged_out_at = excluded.logged_out_at
        """)
}

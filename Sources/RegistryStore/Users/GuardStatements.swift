import PostgresClient
import PushRegistry

/// The SQL of R7: the rows of users and sessions, where registrations and logouts meet. Whoever locks several of them does
/// so in the order of their keys, users first, and installations only after them.
///
/// Rows are looked up one after the other, by LATERAL and what keeps it from becoming a join: a session that planned a join while the
/// table was empty goes on reading all of it, batch after batch, until somebody analyzes it.
enum GuardStatements {
    /// Locks those who are known, in the order of their keys. What is not there says nothing of whether it was ended.
    static let shareUsers = PreparedSQL(
        """
        SELECT k.position, u.refused_before
        FROM (
            SELECT * FROM unnest($1::integer[], $2::bytea[]) WITH ORDINALITY AS k (app_id, user_sha256, position)
            ORDER BY app_id, user_sha256) AS k
        CROSS JOIN LATERAL (
            SELECT refused_before FROM user_guard
            WHERE app_id = k.app_id AND user_sha256 = k.user_sha256 FOR SHARE) AS u
        """)

    /// Makes those who are not. Who makes a row has it alone; whoever else was about to make it waits, and finds that it is there.
    static let addUsers = PreparedSQL(
        """
        INSERT INTO user_guard (app_id, user_sha256)
        SELECT k.app_id, k.user_sha256 FROM unnest($1::integer[], $2::bytea[]) AS k (app_id, user_sha256)
        ORDER BY k.app_id, k.user_sha256
        ON CONFLICT DO NOTHING
        """)

    static let shareSessions = PreparedSQL(
        """
        SELECT k.position, s.ended_at, s.kept_at
        FROM (
            SELECT * FROM unnest($1::integer[], $2::text[]) WITH ORDINALITY AS k (app_id, session_id, position)
            ORDER BY app_id, session_id COLLATE "C") AS k
        CROSS JOIN LATERAL (
            SELECT ended_at, kept_at FROM session
            WHERE app_id = k.app_id AND session_id = k.session_id FOR SHARE) AS s
        """)

    static let addSessions = PreparedSQL(
        """
        INSERT INTO session (app_id, session_id, user_sha256)
        SELECT k.app_id, k.session_id, k.user_sha256
        FROM unnest($1::integer[], $2::text[], $3::bytea[]) AS k (app_id, session_id, user_sha256)
        ORDER BY k.app_id, k.session_id COLLATE "C"
        ON CONFLICT DO NOTHING
        """)

    /// Read after the installations are locked, which is what a logout of one needs.
    static let installationLogouts = PreparedSQL(
        """
        SELECT k.position, l.session_id <> '', l.logged_out_at
        FROM unnest($1::integer[], $2::text[], $3::bytea[], $4::text[]) WITH ORDINALITY
            AS k (app_id, install_id, user_sha256, session_id, position)
        CROSS JOIN LATERAL (
            SELECT session_id, logged_out_at FROM installation_logout
            WHERE app_id = k.app_id AND install_id = k.install_id AND user_sha256 = k.user_sha256
                AND session_id IN ('', coalesce(k.session_id, ''))
            OFFSET 0) AS l
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

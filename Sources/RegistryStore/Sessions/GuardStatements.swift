import PostgresClient
import PushRegistry

/// The SQL of R7: the rows of users and sessions, at which registrations and logouts meet. A transaction that locks
/// several of them takes users first, each kind in the order of keys, and tokens and installations only after them.
/// `$1` is the app.
enum GuardStatements {
    // MARK: Beginning a binding: PUT …/installations/{id}

    /// Adds the users who have no row yet. A transaction that is adding the same row is waited for.
    static let addUsers = PreparedSQL(
        """
        INSERT INTO user_guard (app_id, user_sha256, added_at)
        SELECT $1, k.user_sha256, clock_timestamp() FROM unnest($2::bytea[]) AS k (user_sha256)
        ORDER BY k.user_sha256
        ON CONFLICT DO NOTHING
        """)

    /// Locks the users in share mode. Answers each one's position in `$2`.
    static let shareUsers = PreparedSQL(
        """
        SELECT k.position, u.refused_before
        FROM (
            SELECT * FROM unnest($2::bytea[]) WITH ORDINALITY AS k (user_sha256, position) ORDER BY user_sha256) AS k
        CROSS JOIN LATERAL (
            SELECT refused_before FROM user_guard
            WHERE app_id = $1 AND user_sha256 = k.user_sha256 FOR SHARE) AS u
        """)

    /// Adds the sessions that have no row yet, each with its user. It runs after the users are locked: a session that
    /// is added after a user's logout is seen after it.
    static let addSessions = PreparedSQL(
        """
        INSERT INTO session (app_id, session_id, user_sha256, seen_at)
        SELECT $1, k.session_id, k.user_sha256, \(sql: RegistryClockStatements.now)
        FROM unnest($2::text[], $3::bytea[]) AS k (session_id, user_sha256)
        ORDER BY k.session_id COLLATE "C"
        ON CONFLICT DO NOTHING
        """)

    /// Locks the sessions in share mode. Answers each one's position in `$2`.
    static let shareSessions = PreparedSQL(
        """
        SELECT k.position, s.ended_at, s.kept_at, s.user_sha256, s.seen_at
        FROM (
            SELECT * FROM unnest($2::text[]) WITH ORDINALITY AS k (session_id, position)
            ORDER BY session_id COLLATE "C") AS k
        CROSS JOIN LATERAL (
            SELECT ended_at, kept_at, user_sha256, seen_at FROM session
            WHERE app_id = $1 AND session_id = k.session_id FOR SHARE) AS s
        """)

    /// The logouts of single installations. Read after the installations are locked.
    static let installationLogouts = PreparedSQL(
        """
        SELECT k.position, l.session_id <> '', l.logged_out_at
        FROM unnest($2::text[], $3::bytea[], $4::text[]) WITH ORDINALITY
            AS k (install_id, user_sha256, session_id, position)
        CROSS JOIN LATERAL (
            SELECT session_id, logged_out_at FROM installation_logout
            WHERE app_id = $1 AND install_id = k.install_id AND user_sha256 = k.user_sha256
                AND session_id IN ('', coalesce(k.session_id, ''))
            OFFSET 0) AS l
        """)

    // MARK: Ending bindings

    /// DELETE …/sessions/{id}: a session that was never seen is ended as well, and one that was ended long ago anew:
    /// the registry may have forgotten that.
    static let endSession = PreparedSQL(
        """
        INSERT INTO session AS s (app_id, session_id, seen_at, ended_at)
        VALUES ($1, $2, \(sql: RegistryClockStatements.now), \(sql: RegistryClockStatements.now))
        ON CONFLICT (app_id, session_id) DO UPDATE SET ended_at = excluded.ended_at
        """)

    /// POST …/users/{id}/logout, DELETE …/users/{id}: credentials from before now are refused, and so are sessions that
    /// were first seen with the user. The transaction has the user's row alone from here to its end. `$2` is the
    /// digest.
    static let refuseUser = PreparedSQL(
        """
        INSERT INTO user_guard (app_id, user_sha256, added_at, refused_before)
        VALUES ($1, $2, \(sql: RegistryClockStatements.now), \(sql: RegistryClockStatements.now))
        ON CONFLICT (app_id, user_sha256) DO UPDATE SET refused_before = excluded.refused_before
        """)

    /// POST …/users/{id}/logout with an exception, before `refuseUser`: locks the user's row, alone.
    static let lockUser = PreparedSQL(
        "SELECT FROM user_guard WHERE app_id = $1 AND user_sha256 = $2 FOR UPDATE")

    /// POST …/users/{id}/logout with an exception, before `refuseUser` (R7): a session that an earlier logout ended
    /// stays ended, though it is excepted now. `$3` is the session.
    static let endExceptedSession = PreparedSQL(
        """
        UPDATE session s SET ended_at = u.refused_before
        FROM user_guard u
        WHERE u.app_id = $1 AND u.user_sha256 = $2 AND s.app_id = $1 AND s.session_id = $3 AND s.user_sha256 = $2
            AND (s.ended_at IS NULL OR s.ended_at < u.refused_before) AND s.seen_at < u.refused_before
            AND (s.kept_at IS NULL OR s.kept_at < u.refused_before)
        """)

    /// POST …/users/{id}/logout: the session of `$3`, seen or not, is excepted from what `refuseUser` just did.
    static let keepSession = PreparedSQL(
        """
        INSERT INTO session (app_id, session_id, user_sha256, seen_at, kept_at)
        SELECT $1, $3, $2, u.refused_before, u.refused_before
        FROM user_guard u WHERE u.app_id = $1 AND u.user_sha256 = $2
        ON CONFLICT (app_id, session_id) DO UPDATE SET kept_at = excluded.kept_at
        """)

    /// POST …/users/{id}/logout, DELETE …/users/{id}: ends the sessions in which the user (`$2`) is bound at present,
    /// but the one of `$3`. A device may use its session id for several users, so that it was first seen with another
    /// one. Under the user's lock no further binding of the user can begin.
    static let endSessionsOfBindings = PreparedSQL(
        """
        INSERT INTO session AS s (app_id, session_id, seen_at, ended_at)
        SELECT $1::integer, o.session_id, \(sql: RegistryClockStatements.now), \(sql: RegistryClockStatements.now)
        FROM (
            SELECT DISTINCT session_id FROM installation_owner
            WHERE app_id = $1 AND user_id = $2 AND left_at IS NULL AND session_id IS NOT NULL
                AND session_id IS DISTINCT FROM $3) AS o
        ORDER BY o.session_id COLLATE "C"
        ON CONFLICT (app_id, session_id) DO UPDATE SET ended_at = excluded.ended_at
        """)

    /// POST …/installations/{id}/logout (R6). A later logout of the same credential concerns more credentials.
    static func remember(_ signOuts: [SignOuts.OnInstallation], in app: AppNumber, at now: Timestamp)
        -> PostgresStatement
    {
        PostgresStatement(
            addInstallationLogouts, app.rawValue, now.postgres, signOuts.map(\.key.installID.rawValue),
            signOuts.map { UserDigest.sha256($0.userID) }, signOuts.map { $0.sessionID?.rawValue ?? "" })
    }

    private static let addInstallationLogouts = PreparedSQL(
        """
        INSERT INTO installation_logout (app_id, install_id, user_sha256, session_id, logged_out_at)
        SELECT $1, k.install_id, k.user_sha256, k.session_id, $2
        FROM unnest($3::text[], $4::bytea[], $5::text[]) AS k (install_id, user_sha256, session_id)
        ON CONFLICT (app_id, install_id, user_sha256, session_id) DO UPDATE SET logged_out_at = excluded.logged_out_at
        """)
}

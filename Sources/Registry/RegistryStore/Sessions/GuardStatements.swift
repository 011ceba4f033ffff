import PostgresClient
import PushRegistry

/// The SQL of R7: what is remembered of users and sessions that were logged out. A session has a row when it has left
/// an installation, was ended, or was kept by its user's logout; one that is merely bound has none. The locks of
/// `LockBuckets` come first. `$1` is the app.
package enum GuardStatements {
    // MARK: Beginning a binding: PUT …/installations/{id}

    // Each reads one table: Citus plans it once for a session, but a join at each execution. PostgreSQL also needs less
    // time than for a join.

    /// Returns the users of `$2` that have a row.
    package static let users = PreparedSQL(
        """
        SELECT user_sha256, refused_before, refused_number, topics FROM user_guard
        WHERE app_id = $1 AND user_sha256 = ANY ($2)
        """)

    /// Returns the sessions of `$2` that have a row.
    package static let sessions = PreparedSQL(
        """
        SELECT session_id, ended_at, kept_number, user_sha256, left_number FROM session
        WHERE app_id = $1 AND session_id = ANY ($2)
        """)

    /// Runs after the installations are locked. No id is twice in `$2`; `$3` and `$4` are the users and sessions.
    static let installationLogouts = PreparedSQL(
        """
        SELECT install_id, session_id <> '', logged_out_at FROM installation_logout
        WHERE app_id = $1 AND install_id = ANY ($2)
            AND user_sha256 = ($3::bytea[])[array_position($2::text[], install_id)]
            AND session_id IN ('', coalesce(($4::text[])[array_position($2::text[], install_id)], ''))
        """)

    // MARK: Ending bindings

    /// Adds a session that was never seen. Ends a session again that was ended before, because the registry may have
    /// forgotten the first end.
    static let endSession = PreparedSQL(
        """
        INSERT INTO session AS s (app_id, session_id, recorded_at, ended_at)
        SELECT $1, $2, clock_timestamp(), clock_timestamp()
        ON CONFLICT (app_id, session_id) DO UPDATE SET ended_at = excluded.ended_at
        """)

    /// Refuses credentials issued before now, and the user's sessions that left their installations. `$2` is the user's
    /// digest.
    ///
    /// It runs after `endSessionsOfBindings`: a session that this statement did not find bound any more has left before
    /// now, with a lower number.
    static let refuseUser = PreparedSQL(
        """
        INSERT INTO user_guard (app_id, user_sha256, refused_before, refused_number)
        SELECT $1, $2, clock_timestamp(), nextval('change_number')
        ON CONFLICT (app_id, user_sha256)
        DO UPDATE SET refused_before = excluded.refused_before, refused_number = excluded.refused_number
        """)

    /// Runs before `refuseUser`: a session that an earlier logout ended stays ended, though this logout excepts it.
    /// `$3` is the session.
    static let endExceptedSession = PreparedSQL(
        """
        UPDATE session s SET ended_at = u.refused_before
        FROM user_guard u
        WHERE u.app_id = $1 AND u.user_sha256 = $2 AND s.app_id = $1 AND s.session_id = $3 AND s.user_sha256 = $2
            AND (s.ended_at IS NULL OR s.ended_at < u.refused_before) AND s.left_number < u.refused_number
            AND (s.kept_number IS NULL OR s.kept_number < u.refused_number)
        """)

    /// Runs after `refuseUser`. Adds the session `$3` if it was never seen.
    static let keepSession = PreparedSQL(
        """
        INSERT INTO session (app_id, session_id, user_sha256, recorded_at, left_number, kept_number)
        SELECT u.app_id, $3, $2, u.refused_before, u.refused_number, u.refused_number
        FROM user_guard u WHERE u.app_id = $1 AND u.user_sha256 = $2
        ON CONFLICT (app_id, session_id)
        DO UPDATE SET recorded_at = excluded.recorded_at, kept_number = excluded.kept_number
        """)

    /// The sessions in which the user `$2` is bound now, except the session `$3`. A device may use one session id for
    /// several users, so a row of such a session may name another one. Under the lock of the user's bucket, no other
    /// binding of the user can begin. It runs after the installations are locked, because a transaction that has locked
    /// one of them may write the row of its session.
    static let endSessionsOfBindings = PreparedSQL(
        """
        INSERT INTO session AS s (app_id, session_id, recorded_at, ended_at)
        SELECT $1::integer, o.session_id, clock_timestamp(), clock_timestamp()
        FROM (
            SELECT DISTINCT session_id FROM installation_owner
            WHERE app_id = $1 AND user_id = $2 AND left_at IS NULL AND session_id IS NOT NULL
                AND session_id IS DISTINCT FROM $3) AS o
        ORDER BY o.session_id COLLATE "C"
        ON CONFLICT (app_id, session_id) DO UPDATE SET ended_at = excluded.ended_at
        """)

    // MARK: Leaving an installation

    /// Sessions that left installations, with their users.
    ///
    /// - Parameter moment: read when the installations were locked. A logout of the user after the sessions have left
    ///   has a higher number, and no binding began before a logout that has a lower one.
    static func leave(
        _ sessions: [(id: SessionID, userID: UserID)], in app: AppNumber, at moment: Moment
    ) -> PostgresStatement {
        let sorted = Dictionary(sessions.map { ($0.id.rawValue, $0.userID) }, uniquingKeysWith: { first, _ in first })
            .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return leaveSessions(
            app.rawValue, moment.number, moment.time.postgres, sorted.map(\.key),
            sorted.map { UserDigest.sha256($0.value) })
    }

    /// A logout of the user ends a session that left before it. A session that has a row keeps it.
    static let leaveSessions = PreparedSQL(
        """
        INSERT INTO session (app_id, session_id, user_sha256, recorded_at, left_number)
        SELECT \(sql: AppRow.app), k.session_id, k.user_sha256, $3, $2::bigint
        FROM \(sql: AppRow.beside("unnest($4::text[], $5::bytea[]) AS k (session_id, user_sha256)"))
        ORDER BY k.session_id
        ON CONFLICT DO NOTHING
        """)

    /// A later logout of the same credential replaces an earlier one: it refuses more credentials.
    static func remember(_ tombstones: [Tombstones.OnInstallation], in app: AppNumber, at now: Timestamp)
        -> PostgresStatement
    {
        addInstallationLogouts(
            app.rawValue, now.postgres, tombstones.map(\.key.installID.rawValue),
            tombstones.map { UserDigest.sha256($0.userID) }, tombstones.map { $0.sessionID?.rawValue ?? "" })
    }

    /// POST …/installations/{installId}/logout (R6): records logouts of installations.
    static let addInstallationLogouts = PreparedSQL(
        """
        INSERT INTO installation_logout (app_id, install_id, user_sha256, session_id, logged_out_at)
        SELECT \(sql: AppRow.app), k.install_id, k.user_sha256, k.session_id, $2
        FROM \(sql: AppRow.beside("""
            unnest($3::text[], $4::bytea[], $5::text[]) AS k (install_id, user_sha256, session_id)
            """))
        ON CONFLICT (app_id, install_id, user_sha256, session_id)
        DO UPDATE SET logged_out_at = excluded.logged_out_at
        """)
}

/// A row of `GuardStatements.users`.
package struct RememberedUser {
    package let sha256: [UInt8]
    /// The last end of all sessions of the user.
    package let logout: Tombstones.UserLogout?
    package let choices: TopicChoices

    package init(_ row: PostgresRow) throws {
        sha256 = try row.decode(0)
        logout = try row.userLogout(1)
        choices = TopicChoices(codes: try row.decode(3, as: [Int32]?.self) ?? [])
    }
}

extension PostgresRow {
    /// The time and the number in these two columns.
    func userLogout(_ column: Int) throws -> Tombstones.UserLogout? {
        try decode(column, as: Timestamp?.self).map { .init(time: $0, number: try decode(column + 1)) }
    }
}

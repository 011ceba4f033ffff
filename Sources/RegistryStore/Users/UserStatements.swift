import PostgresClient
import PushRegistry

/// The SQL of users: their installations, found by whom they are bound to.
enum UserStatements {
    /// R6, R7: the binding goes, the snapshot stays.
    private static let unbind = PreparedSQL(
        """
        UPDATE installation i
        SET user_id = NULL, session_id = NULL, session_expires_at = NULL, credential_issued_at = NULL,
            state = k.state::installation_state, generation = k.generation, state_changed_at = k.state_changed_at
        FROM unnest($1::integer[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[])
            AS k (app_id, install_id, state, generation, state_changed_at)
        WHERE i.app_id = k.app_id AND i.install_id = k.install_id
        """)

    static func unbinding(_ installations: [Installation]) -> PostgresStatement {
        PostgresStatement(
            unbind, installations.map(\.key.app.rawValue), installations.map(\.key.installID.rawValue),
            installations.map(\.state.rawValue), installations.map(\.generation),
            installations.map(\.stateChangedAt.postgres))
    }

    static let lock = PreparedSQL(
        """
        SELECT \(sql: InstallationColumns.list)
        FROM unnest($1::integer[], $2::text[]) AS k (app_id, install_id)
        JOIN installation i USING (app_id, install_id)
        ORDER BY i.app_id, i.install_id FOR UPDATE OF i
        """)

    static let lockOfSession = PreparedSQL(
        """
        SELECT \(sql: InstallationColumns.list) FROM installation i WHERE i.app_id = $1 AND i.session_id = $2
        ORDER BY i.app_id, i.install_id FOR UPDATE
        """)

    static let lockOfUser = PreparedSQL(
        """
        SELECT \(sql: InstallationColumns.list) FROM installation i WHERE i.app_id = $1 AND i.user_id = $2
        ORDER BY i.app_id, i.install_id FOR UPDATE
        """)

    /// For an erasure: all that the user may have left. Locked before it is told which of them that are, since what is read in the
    /// statement that waits for a lock may be older than what it locks.
    static let lockSeenWithUser = PreparedSQL(
        """
        WITH wanted AS MATERIALIZED (\(sql: seenWithUser))
        SELECT FROM wanted w JOIN installation i USING (app_id, install_id)
        ORDER BY i.app_id, i.install_id
        FOR UPDATE OF i
        """)

    /// Those of the user, and those that the user registered last and left. What somebody else registered since, and left, tells of
    /// that one.
    static let leftByUser = PreparedSQL(
        """
        WITH wanted AS MATERIALIZED (\(sql: seenWithUser))
        SELECT \(sql: InstallationColumns.list)
        FROM wanted w JOIN installation i USING (app_id, install_id)
        WHERE i.user_id = $2 OR (i.user_id IS NULL AND i.state <> 'active' AND $2 = (
            SELECT e.user_id FROM token_event e
            WHERE e.app_id = i.app_id AND e.install_id = i.install_id AND \(sql: isRegistration)
            ORDER BY e.id DESC LIMIT 1))
        ORDER BY i.app_id, i.install_id
        """)

    private static let seenWithUser: PostgresSQL = """
        SELECT i.app_id, i.install_id FROM installation i WHERE i.app_id = $1 AND i.user_id = $2
        UNION
        SELECT e.app_id, e.install_id FROM token_event e WHERE e.app_id = $1 AND e.user_id = $2
        """

    static let delete = PreparedSQL(
        """
        DELETE FROM installation i USING unnest($1::integer[], $2::text[]) AS k (app_id, install_id)
        WHERE i.app_id = k.app_id AND i.install_id = k.install_id
        """)

    static let deleteSnapshots = PreparedSQL(
        """
        DELETE FROM settings_snapshot s USING unnest($1::integer[], $2::text[]) AS k (app_id, install_id)
        WHERE s.app_id = k.app_id AND s.install_id = k.install_id
        """)

    /// What the user's device and settings were on installations that others have by now; to be carried out while history still names
    /// the user. The newest snapshot says what the installation is at present, and so is its present owner's.
    static let deleteSnapshotsOfUser = PreparedSQL(
        """
        DELETE FROM settings_snapshot s
        WHERE s.app_id = $1
            AND s.install_id IN (SELECT e.install_id FROM token_event e WHERE e.app_id = $1 AND e.user_id = $2)
            AND EXISTS (
                SELECT FROM settings_snapshot n WHERE n.app_id = $1 AND n.install_id = s.install_id AND n.id > s.id)
            AND $2 = (
                SELECT e.user_id FROM token_event e
                WHERE e.app_id = $1 AND e.install_id = s.install_id AND e.at <= s.at ORDER BY e.id DESC LIMIT 1)
        """)

    private static let isRegistration: PostgresSQL =
        "e.event IN ('registered', 'rotated', 'takenOver', 'reactivated', 'imported')"

    /// History keeps what happened to a token, and loses whose it was.
    static let forget = PreparedSQL(
        """
        UPDATE token_event
        SET user_id = nullif(user_id, $2), previous_user_id = nullif(previous_user_id, $2)
        WHERE (app_id = $1 AND user_id = $2)
            OR (app_id = $1 AND previous_user_id = $2 AND previous_user_id IS DISTINCT FROM user_id)
        """)

    static let list = PreparedSQL(
        """
        SELECT \(sql: InstallationStatements.recordColumns) FROM installation i
        WHERE i.app_id = $1 AND i.user_id = $2 AND i.install_id > $3
        ORDER BY i.install_id LIMIT $4
        """)
}

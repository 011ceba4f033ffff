import PostgresClient
import PushRegistry

/// The SQL of users: their installations, found by `installation_owner`. `$1` is the app.
enum UserStatements {
    /// POST …/users/{id}/logout, DELETE …/sessions/{id} (R7): locks up to `$4` installations after `$3` that are bound
    /// to the user `$2`, in the order of their ids.
    static let lockOfUser = PreparedSQL(
        """
        SELECT i.*
        FROM (
            SELECT install_id FROM installation_owner
            WHERE app_id = $1 AND user_id = $2 AND left_at IS NULL AND install_id > $3
            ORDER BY install_id LIMIT $4) AS k
        CROSS JOIN LATERAL (\(sql: locked)) AS i
        """)

    /// DELETE …/sessions/{id} (R7): the same by the session `$2`.
    static let lockOfSession = PreparedSQL(
        """
        SELECT i.*
        FROM (
            SELECT install_id FROM installation_owner
            WHERE app_id = $1 AND session_id = $2 AND left_at IS NULL AND install_id > $3
            ORDER BY install_id LIMIT $4) AS k
        CROSS JOIN LATERAL (\(sql: locked)) AS i
        """)

    private static let locked: PostgresSQL = """
        SELECT \(sql: InstallationColumns.list) FROM installation i
        WHERE i.app_id = $1 AND i.install_id = k.install_id FOR UPDATE
        """

    // MARK: Erasure

    /// DELETE …/users/{id}: up to `$4` installations after `$3` that the user `$2` is or was bound to, there or not.
    static let seenWithUser = PreparedSQL(
        """
        SELECT install_id FROM installation_owner
        WHERE app_id = $1 AND user_id = $2 AND install_id > $3 ORDER BY install_id LIMIT $4
        """)

    /// DELETE …/users/{id}: of these installations (`$4`), locked before, those that go: the user's (`$2`), and those
    /// that the user registered last (`$3`, the registrant) and left, unless they go on without an owner.
    static let leftByUser = PreparedSQL(
        """
        SELECT \(sql: InstallationColumns.list)
        FROM unnest($4::text[]) AS k (install_id)
        JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id
        WHERE i.user_id = $2 OR (i.user_id IS NULL AND i.state <> 'active' AND i.registrant = $3)
        ORDER BY i.install_id
        """)

    /// DELETE …/users/{id}: history keeps what happened to a token, and loses whose it was: the events of these
    /// installations (`$3`), and those of the same tokens elsewhere that name the user (`$2`) as the former one.
    static let anonymizeEvents = PreparedSQL(
        """
        WITH own AS MATERIALIZED (
            SELECT e.id, e.at, e.token_sha256
            FROM unnest($3::text[]) AS k (install_id)
            JOIN token_event e ON e.app_id = $1 AND e.install_id = k.install_id
        ), others AS MATERIALIZED (
            SELECT e.id, e.at
            FROM (SELECT DISTINCT token_sha256 FROM own WHERE token_sha256 IS NOT NULL) AS t
            JOIN token_event e ON e.app_id = $1 AND e.token_sha256 = t.token_sha256
        )
        UPDATE token_event e
        SET user_id = nullif(e.user_id, $2), previous_user_id = nullif(e.previous_user_id, $2)
        FROM (SELECT id, at FROM own UNION SELECT id, at FROM others) AS k
        WHERE e.app_id = $1 AND e.id = k.id AND e.at = k.at AND (e.user_id = $2 OR e.previous_user_id = $2)
        """)

    /// DELETE …/users/{id}: installations that stay (`$3`) lose the mark (`$2`) of who registered them and sent their
    /// snapshot. The snapshot itself is the present owner's.
    static let forgetRegistrant = PreparedSQL(
        """
        UPDATE installation i
        SET registrant = nullif(i.registrant, $2), snapshot_sender = nullif(i.snapshot_sender, $2),
            revision = i.revision + 1
        FROM unnest($3::text[]) AS k (install_id)
        WHERE i.app_id = $1 AND i.install_id = k.install_id AND (i.registrant = $2 OR i.snapshot_sender = $2)
        """)

    /// DELETE …/users/{id}: the last that names the user.
    static let deleteOwners = PreparedSQL(
        """
        DELETE FROM installation_owner o USING unnest($3::text[]) AS k (install_id)
        WHERE o.app_id = $1 AND o.user_id = $2 AND o.install_id = k.install_id
        """)

    /// GET …/users/{id}/installations
    static let list = PreparedSQL(
        """
        SELECT \(sql: InstallationStatements.recordColumns)
        FROM installation_owner o
        JOIN installation i ON i.app_id = $1 AND i.install_id = o.install_id
        WHERE o.app_id = $1 AND o.user_id = $2 AND o.left_at IS NULL AND o.install_id > $3
        ORDER BY o.install_id LIMIT $4
        """)
}

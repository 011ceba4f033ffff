import PostgresClient
import PushRegistry

/// The SQL of users: their installations, found by `installation_owner`. `$1` is the app.
package enum UserStatements {
    /// A `LockedPage`: up to `$4` installations with ids after `$3` that are bound to the user `$2` since a transaction
    /// with a number up to `$5`.
    static let lockOfUser = InstallationStatements.page(
        of: "installation_owner o WHERE o.user_id = $2 AND o.number <= $5")

    /// A `LockedPage`: up to `$4` installations with ids after `$3` that are bound in the session `$2`.
    static let lockOfSession = InstallationStatements.page(of: "installation_owner o WHERE o.session_id = $2")

    // MARK: Erasure

    /// Up to `$4` ids after `$3`; an installation may have been deleted. `$2` is the user.
    static let seenWithUser = PreparedSQL(
        """
        SELECT install_id FROM installation_owner
        WHERE app_id = $1 AND user_id = $2 AND install_id > $3 ORDER BY install_id LIMIT $4
        """)

    /// Returns, of the locked installations `$4`, those of the user `$2`, and inactive ones without an owner that the
    /// user (`$3`, the registrant) registered last.
    static let leftByUser = PreparedSQL(
        """
        SELECT \(sql: InstallationColumns.list)
        FROM unnest($4::text[]) AS k (install_id)
        JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id
        WHERE i.user_id = $2 OR (i.user_id IS NULL AND i.state <> 'active' AND i.registrant = $3)
        ORDER BY i.install_id
        """)

    /// The events stay. It removes the user `$2` from the events of the installations `$3`, and from the events of
    /// other installations that name the user as the former owner of the same tokens.
    static let anonymizeEvents = PreparedSQL(
        """
        WITH own AS MATERIALIZED (
            SELECT e.install_id, e.id, e.at, e.token_sha256,
                e.user_id = $2 OR e.previous_user_id = $2 AS has_user
            FROM unnest($3::text[]) AS k (install_id)
            JOIN token_event e ON e.app_id = $1 AND e.install_id = k.install_id
        ), others AS MATERIALIZED (
            SELECT e.install_id, e.id, e.at, e.user_id = $2 OR e.previous_user_id = $2 AS has_user
            FROM (SELECT DISTINCT token_sha256 FROM own WHERE token_sha256 IS NOT NULL) AS t
            JOIN token_event e ON e.app_id = $1 AND e.token_sha256 = t.token_sha256
        )
        UPDATE token_event e
        SET user_id = nullif(e.user_id, $2), previous_user_id = nullif(e.previous_user_id, $2),
            topics = CASE WHEN e.topics IS NOT NULL THEN '{}'::text[] END
        FROM (
            SELECT install_id, id, at FROM own WHERE has_user
            UNION
            SELECT install_id, id, at FROM others WHERE has_user) AS k
        WHERE e.app_id = $1 AND e.install_id = k.install_id AND e.id = k.id AND e.at = k.at
        """)

    /// Removes the digest `$2` of the user who registered the installations `$3` and sent their snapshots. The present
    /// snapshot belongs to the present owner.
    static let forgetRegistrant = PreparedSQL(
        """
        UPDATE installation i
        SET registrant = nullif(i.registrant, $2), snapshot_sender = nullif(i.snapshot_sender, $2),
            revision = i.revision + 1
        FROM unnest($3::text[]) AS k (install_id)
        WHERE i.app_id = $1 AND i.install_id = k.install_id AND (i.registrant = $2 OR i.snapshot_sender = $2)
        """)

    /// Removes the digests `$4` of the users `$2` from the installations `$3`, unless they are bound to them again.
    package static let forgetFormerOwners = PreparedSQL(
        """
        UPDATE installation i
        SET registrant = CASE WHEN i.registrant = ANY (k.digests) THEN NULL ELSE i.registrant END,
            snapshot_sender = CASE WHEN i.snapshot_sender = ANY (k.digests) THEN NULL ELSE i.snapshot_sender END,
            revision = i.revision + 1
        FROM (
            SELECT install_id, array_agg(user_id) AS users, array_agg(digest) AS digests
            FROM unnest($2::text[], $3::text[], $4::bigint[]) AS k (user_id, install_id, digest)
            GROUP BY install_id) AS k
        WHERE i.app_id = $1 AND i.install_id = k.install_id
            AND (i.registrant = ANY (k.digests) OR i.snapshot_sender = ANY (k.digests))
            AND (i.user_id IS NULL OR i.user_id <> ALL (k.users))
        """)

    /// DELETE …/users/{userId}: deletes the last rows that name the user.
    static let deleteOwners = PreparedSQL(
        """
        DELETE FROM installation_owner o USING unnest($3::text[]) AS k (install_id)
        WHERE o.app_id = $1 AND o.user_id = $2 AND o.install_id = k.install_id
        """)

    /// GET …/users/{userId}/installations, POST …/users/installations: up to `$4` bindings of the users `$2`, in
    /// their order; of the first one those after `$3`. Each user is one look-up in an index.
    private static let bindings: PostgresSQL = """
        (SELECT k.number, o.install_id
            FROM unnest($2::text[]) WITH ORDINALITY AS k (user_id, number)
            CROSS JOIN LATERAL (
                SELECT install_id FROM installation_owner
                WHERE app_id = $1 AND user_id = k.user_id AND left_at IS NULL
                    AND install_id > CASE WHEN k.number = 1 THEN $3 ELSE '' END
                ORDER BY install_id LIMIT $4) AS o
            ORDER BY k.number, o.install_id LIMIT $4)
        """

    /// Lists the installations of users.
    static let list = PreparedSQL(
        """
        SELECT \(sql: InstallationStatements.recordColumns)
        FROM \(sql: bindings) AS o
        JOIN installation i ON i.app_id = $1 AND i.install_id = o.install_id
        ORDER BY o.number, o.install_id
        """)

    /// Reads the typed tokens of the same installations that are not held, since senders read them here.
    static let tokensOfList = PreparedSQL(
        """
        SELECT \(sql: TypedTokenStatements.columns)
        FROM \(sql: bindings) AS o
        JOIN typed_token t ON t.app_id = $1 AND t.install_id = o.install_id AND NOT t.held
        """)
}

import PostgresClient
import PushRegistry

/// The SQL of single installations.
enum InstallationStatements {
    static let named = [
        NamedStatement("read", read), NamedStatement("lock", lock), NamedStatement("exists", exists),
        NamedStatement("deleteRows", deleteRows), NamedStatement("deleteChanges", deleteChangesSQL),
        NamedStatement("raiseRevision", raiseRevisionSQL), NamedStatement("unbind", unbindSQL),
    ]

    /// The columns of an `InstallationRecord`.
    static let recordColumns: PostgresSQL = """
        \(sql: InstallationColumns.list), i.token, statement_timestamp(), \
        \(sql: SnapshotColumns.batch.list.names(of: "i"))
        """

    static let read = PreparedSQL(
        serving: "GET …/installations/{installId}: reads an installation.",
        """
        SELECT \(sql: recordColumns) FROM installation i WHERE app_id = $1 AND install_id = $2
        """)

    static let lock = PreparedSQL(
        serving: "DELETE …/installations/{installId}, logouts, erasure (R6, R7): locks installations by id.",
        """
        SELECT i.*
        FROM (SELECT install_id FROM unnest($2::text[]) AS k (install_id) ORDER BY install_id COLLATE "C") AS k
        CROSS JOIN LATERAL (
            SELECT \(sql: InstallationColumns.list) FROM installation i
            WHERE i.app_id = $1 AND i.install_id = k.install_id FOR UPDATE) AS i
        """)

    static let exists = PreparedSQL(
        serving: "GET …/installations/{installId}/snapshots: checks that the installation exists.",
        "SELECT true FROM installation WHERE app_id = $1 AND install_id = $2")

    /// An installation that is deleted cannot be restored by `cleanup undo`.
    static func delete(_ installIDs: [InstallID], in app: AppNumber) -> [PostgresStatement] {
        let ids = installIDs.map(\.rawValue)
        return [
            PostgresStatement(deleteRows, app.rawValue, ids), deleteChanges(of: installIDs, in: app),
            SnapshotStatements.delete(of: installIDs, in: app),
        ]
    }

    private static let deleteRows = PreparedSQL(
        serving: "DELETE …/installations/{installId}, DELETE …/users/{userId}: deletes installations.",
        """
        DELETE FROM installation i USING unnest($2::text[]) AS k (install_id)
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    static func deleteChanges(of installIDs: [InstallID], in app: AppNumber) -> PostgresStatement {
        PostgresStatement(deleteChangesSQL, app.rawValue, installIDs.map(\.rawValue))
    }

    private static let deleteChangesSQL = PreparedSQL(
        serving: "DELETE …/installations/{installId}, DELETE …/users/{userId}, clean-up: deletes changes to undo.",
        """
        DELETE FROM cleanup_change c USING unnest($2::text[]) AS k (install_id)
        WHERE c.app_id = $1 AND c.install_id = k.install_id
        """)

    /// A late logout has an event and changes nothing else. The higher revision keeps a writer that compares revisions
    /// from writing a later event at a lower position.
    /// A registration in one trip may have read the events and tombstones of these installations before it waits for
    /// their locks. It notices by the revisions that its snapshot is old.
    static func raiseRevision(of installIDs: [InstallID], in app: AppNumber) -> PostgresStatement {
        PostgresStatement(raiseRevisionSQL, app.rawValue, installIDs.map(\.rawValue))
    }

    private static let raiseRevisionSQL = PreparedSQL(
        serving: "POST …/installations/{installId}/logout (R7, R12): raises revisions.",
        """
        UPDATE installation i SET revision = i.revision + 1
        FROM unnest($2::text[]) AS k (install_id)
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    static func unbind(_ installations: [Installation], in app: AppNumber) -> PostgresStatement {
        PostgresStatement(
            unbindSQL, app.rawValue, installations.map(\.key.installID.rawValue), installations.map(\.state.rawValue),
            installations.map(\.generation), installations.map(\.epoch), installations.map(\.stateChangedAt.postgres))
    }

    /// The snapshot stays. The choices on an installation end with its owner.
    private static let unbindSQL = PreparedSQL(
        serving: "Logouts of an installation, a user or a session (R6, R7): ends bindings.",
        """
        UPDATE installation i
        SET user_id = NULL, session_id = NULL, session_expires_at = NULL, credential_issued_at = NULL,
            topic_choices = CASE WHEN i.user_id IS NULL THEN i.topic_choices END,
            topics = CASE WHEN i.user_id IS NULL THEN i.topics END,
            state = k.state, generation = k.generation, epoch = k.epoch, state_changed_at = k.state_changed_at,
            revision = i.revision + 1
        FROM unnest($2::text[], $3::text[]::installation_state[], $4::bigint[], $5::bigint[], $6::timestamptz[])
            AS k (install_id, state, generation, epoch, state_changed_at)
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)
}

import PostgresClient
import PushRegistry

/// The SQL of single installations.
enum InstallationStatements {
    /// What `InstallationRecord` is read from.
    static let recordColumns: PostgresSQL = """
        \(sql: InstallationColumns.list), i.token, statement_timestamp(), \
        \(sql: SnapshotColumns.batch.list.names(of: "i"))
        """

    /// GET …/installations/{id}
    static let read = PreparedSQL(
        """
        SELECT \(sql: recordColumns) FROM installation i WHERE app_id = $1 AND install_id = $2
        """)

    /// DELETE …/installations/{id}, POST …/installations/{id}/logout, POST …/users/{id}/logout: locks these
    /// installations, in the order of their ids.
    static let lock = PreparedSQL(
        """
        SELECT i.*
        FROM (SELECT install_id FROM unnest($2::text[]) AS k (install_id) ORDER BY install_id COLLATE "C") AS k
        CROSS JOIN LATERAL (
            SELECT \(sql: InstallationColumns.list) FROM installation i
            WHERE i.app_id = $1 AND i.install_id = k.install_id FOR UPDATE) AS i
        """)

    /// GET …/installations/{id}/snapshots
    static let exists = PreparedSQL("SELECT true FROM installation WHERE app_id = $1 AND install_id = $2")

    /// DELETE …/installations/{id}, DELETE …/users/{id}: what the night job keeps for an undo goes along.
    static func delete(_ installIDs: [InstallID], in app: AppNumber) -> [PostgresStatement] {
        let ids = installIDs.map(\.rawValue)
        return [
            PostgresStatement(deleteRows, app.rawValue, ids), PostgresStatement(deleteChanges, app.rawValue, ids),
            SnapshotStatements.delete(of: installIDs, in: app),
        ]
    }

    private static let deleteRows = PreparedSQL(
        """
        DELETE FROM installation i USING unnest($2::text[]) AS k (install_id)
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    private static let deleteChanges = PreparedSQL(
        """
        DELETE FROM cleanup_change c USING unnest($2::text[]) AS k (install_id)
        WHERE c.app_id = $1 AND c.install_id = k.install_id
        """)

    /// POST …/installations/{id}/logout: a late logout changes nothing, but has an event. A writer that compares the
    /// revision must not write a later event at a lower position.
    static func raiseRevision(of installIDs: [InstallID], in app: AppNumber) -> PostgresStatement {
        PostgresStatement(raiseRevisionSQL, app.rawValue, installIDs.map(\.rawValue))
    }

    private static let raiseRevisionSQL = PreparedSQL(
        """
        UPDATE installation i SET revision = i.revision + 1
        FROM unnest($2::text[]) AS k (install_id)
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// POST …/installations/{id}/logout, POST …/users/{id}/logout, DELETE …/sessions/{id} (R6, R7): the binding goes,
    /// the snapshot stays.
    static func unbind(_ installations: [Installation], in app: AppNumber) -> PostgresStatement {
        PostgresStatement(
            unbindSQL, app.rawValue, installations.map(\.key.installID.rawValue), installations.map(\.state.rawValue),
            installations.map(\.generation), installations.map(\.stateChangedAt.postgres))
    }

    private static let unbindSQL = PreparedSQL(
        """
        UPDATE installation i
        SET user_id = NULL, session_id = NULL, session_expires_at = NULL, credential_issued_at = NULL,
            state = k.state, generation = k.generation, state_changed_at = k.state_changed_at, revision = i.revision + 1
        FROM unnest($2::text[], $3::text[]::installation_state[], $4::bigint[], $5::timestamptz[])
            AS k (install_id, state, generation, state_changed_at)
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)
}

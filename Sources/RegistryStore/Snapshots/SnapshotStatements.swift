import PostgresClient
import PushRegistry

/// The SQL of snapshots that were replaced: the table `settings_snapshot`. The present one is in `installation`.
enum SnapshotStatements {
    /// PUT …/installations/{id} (R2): copies the snapshots of these installations, which the same transaction is about
    /// to replace. It reads the rows as they were when the statement began, also within a statement that updates them.
    ///
    /// - Parameters:
    ///   - installations: a FROM item named `c` with a column `install_id`. `$1` is the app.
    ///   - time: the placeholder of the time.
    static func keep(from installations: PostgresSQL, at time: PostgresSQL) -> PostgresSQL {
        """
        INSERT INTO settings_snapshot (replaced_at, at, app_id, install_id, sender, \(sql: names))
        SELECT greatest(\(sql: time), i.snapshot_at), i.snapshot_at, i.app_id, i.install_id, i.snapshot_sender,
            \(sql: SnapshotColumns.batch.list.names(of: "i"))
        FROM \(sql: installations) JOIN installation i ON i.app_id = $1 AND i.install_id = c.install_id
        WHERE i.app_id = $1
        """
    }

    private static var names: PostgresSQL { SnapshotColumns.batch.list.names }

    /// GET …/installations/{id}/snapshots: the present one first, then those that were replaced. `$3` is the id before
    /// which the page begins, and the largest of all for the first page.
    static let page = PreparedSQL(
        """
        SELECT * FROM (
            SELECT \(sql: presentID) AS id, i.snapshot_at AS at, \(sql: names)
            FROM installation i WHERE i.app_id = $1 AND i.install_id = $2
            UNION ALL
            (SELECT id, at, \(sql: names) FROM settings_snapshot s
            WHERE s.app_id = $1 AND s.install_id = $2 AND s.id < $3 ORDER BY s.id DESC LIMIT $4)) AS snapshot
        WHERE id < $3 ORDER BY id DESC LIMIT $4
        """)

    /// Above the ids of all that were replaced.
    private static let presentID: PostgresSQL = "9223372036854775806::bigint"

    /// DELETE …/installations/{id}, DELETE …/users/{id}.
    static func delete(of installIDs: [InstallID], in app: AppNumber) -> PostgresStatement {
        PostgresStatement(deleteSQL, app.rawValue, installIDs.map(\.rawValue))
    }

    private static let deleteSQL = PreparedSQL(
        """
        DELETE FROM settings_snapshot s USING unnest($2::text[]) AS k (install_id)
        WHERE s.app_id = $1 AND s.install_id = k.install_id
        """)

    /// DELETE …/users/{id}: what the user sent from installations that stay. `$3` are these installations.
    static let deleteOfRegistrant = PreparedSQL(
        """
        DELETE FROM settings_snapshot s USING unnest($3::text[]) AS k (install_id)
        WHERE s.app_id = $1 AND s.install_id = k.install_id AND s.sender = $2
        """)
}

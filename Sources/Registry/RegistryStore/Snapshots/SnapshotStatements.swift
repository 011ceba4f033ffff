import PostgresClient
import PushRegistry

/// The SQL of snapshots that were replaced: the table `settings_snapshot`. The present one is in `installation`.
enum SnapshotStatements {
    /// A SELECT: the present snapshots of installations, as `keep` inserts them. `$1` is the app. The id of a snapshot
    /// is the revision of the row that has it when it is replaced.
    ///
    /// - Parameter installations: a FROM item named `k` with a column `install_id`.
    static func present(in installations: PostgresSQL) -> PostgresSQL {
        """
        SELECT \(sql: columns(of: "i"))
        FROM \(sql: installations) JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id
        """
    }

    /// The columns of an installation that `keep` reads.
    static func columns(of installation: String) -> PostgresSQL {
        let names: [PostgresSQL] = ["app_id", "install_id", "revision", "snapshot_at", "snapshot_sender"]
        return names.map { "\(identifier: installation).\(sql: $0)" }.joined(separator: ", ")
            + ", \(sql: SnapshotColumns.batch.list.names(of: installation))"
    }

    /// PUT …/installations/{id} (R2): inserts snapshots that the same transaction replaces.
    ///
    /// - Parameters:
    ///   - snapshots: a FROM item with the columns of `present`.
    ///   - time: the placeholder of the time.
    static func keep(_ snapshots: PostgresSQL, at time: PostgresSQL) -> PostgresSQL {
        """
        INSERT INTO settings_snapshot (id, replaced_at, at, app_id, install_id, sender, \(sql: names))
        SELECT s.revision, greatest(\(sql: time), s.snapshot_at), s.snapshot_at, s.app_id, s.install_id,
            s.snapshot_sender,
            \(sql: SnapshotColumns.batch.list.names(of: "s"))
        FROM \(sql: snapshots) AS s
        """
    }

    private static var names: PostgresSQL { SnapshotColumns.batch.list.names }

    /// The present snapshot first, then the replaced ones. The page begins below the id `$3`; for the first page, `$3`
    /// is the largest number.
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

    static func delete(of installIDs: [InstallID], in app: AppNumber) -> PostgresStatement {
        PostgresStatement(deleteSQL, app.rawValue, installIDs.map(\.rawValue))
    }

    /// DELETE …/installations/{installId}, DELETE …/users/{userId}: deletes replaced snapshots.
    private static let deleteSQL = PreparedSQL(
        """
        DELETE FROM settings_snapshot s USING unnest($2::text[]) AS k (install_id)
        WHERE s.app_id = $1 AND s.install_id = k.install_id
        """)

    /// DELETE …/users/{userId}: deletes snapshots that the user sent.
    /// `$2` is the user's digest, `$3` are installations that stay.
    static let deleteOfRegistrant = PreparedSQL(
        """
        DELETE FROM settings_snapshot s USING unnest($3::text[]) AS k (install_id)
        WHERE s.app_id = $1 AND s.install_id = k.install_id AND s.sender = $2
        """)
}

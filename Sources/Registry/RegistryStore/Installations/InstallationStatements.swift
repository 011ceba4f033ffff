import PostgresClient
import PushRegistry

/// The SQL of single installations.
enum InstallationStatements {
    /// The columns of an `InstallationRecord`.
    static let recordColumns: PostgresSQL = """
        \(sql: InstallationColumns.list), i.token, \(sql: reachabilityTime), \
        \(sql: SnapshotColumns.batch.list.names(of: "i"))
        """

    /// An expression: the present time, or that of the last sweep if the clock was set back since. A session that
    /// counts take for expired is not reachable here either.
    static let reachabilityTime: PostgresSQL =
        "greatest(statement_timestamp(), (SELECT swept_until FROM rollup_state WHERE app_id = $1))"

    /// GET …/installations/{installId}: reads an installation.
    static let read = PreparedSQL(
        """
        SELECT \(sql: recordColumns) FROM installation i WHERE app_id = $1 AND install_id = $2
        """)

    /// DELETE …/installations/{installId}, logouts, erasure (R6, R7): locks installations by id.
    static let lock = PreparedSQL(
        """
        SELECT i.*
        FROM (SELECT install_id FROM unnest($2::text[]) AS k (install_id) ORDER BY install_id COLLATE "C") AS k
        CROSS JOIN LATERAL (\(sql: locked)) AS i
        """)

    /// A SELECT: locks the installation with the id of `k`.
    static let locked: PostgresSQL = """
        SELECT \(sql: InstallationColumns.list) FROM installation i
        WHERE i.app_id = $1 AND i.install_id = k.install_id FOR UPDATE
        """

    /// A `LockedPage`: up to `$4` installations with ids after `$3`, in their order.
    ///
    /// - Parameter owners: a FROM item of `installation_owner o` with a condition; `$2` is its value.
    static func page(of owners: PostgresSQL) -> PreparedSQL {
        PreparedSQL(
            """
            SELECT k.install_id, i.*
            FROM (
                SELECT o.install_id FROM \(sql: owners) AND o.app_id = $1 AND o.left_at IS NULL AND o.install_id > $3
                ORDER BY o.install_id LIMIT $4) AS k
            LEFT JOIN LATERAL (\(sql: locked)) AS i ON true
            """)
    }

    /// GET …/installations/{installId}/snapshots: checks that the installation exists.
    static let exists = PreparedSQL(
        "SELECT true FROM installation WHERE app_id = $1 AND install_id = $2")
}

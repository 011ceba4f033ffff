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
        CROSS JOIN LATERAL (
            SELECT \(sql: InstallationColumns.list) FROM installation i
            WHERE i.app_id = $1 AND i.install_id = k.install_id FOR UPDATE) AS i
        """)

    /// GET …/installations/{installId}/snapshots: checks that the installation exists.
    static let exists = PreparedSQL(
        "SELECT true FROM installation WHERE app_id = $1 AND install_id = $2")
}

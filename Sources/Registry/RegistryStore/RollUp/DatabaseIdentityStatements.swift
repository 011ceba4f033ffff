import PostgresClient

/// What a process may cache of a database belongs to one run of one server, and to its present tables. A failover to a
/// server that lacks the newest transactions, and a restored dump, use numbers of cells and transactions again.
/// The night job deletes unused cells an hour after it has changed `rollup_marked_at` (`UnusedCells`).
package enum DatabaseIdentityStatements {
    /// An expression.
    static let sql: PostgresSQL = """
        concat_ws('.', extract(epoch FROM pg_postmaster_start_time()), (
                SELECT oid FROM pg_database WHERE datname = current_database()),
                pg_relation_filenode('rollup_cell'), pg_relation_filenode('rollup_delta'),
                pg_sequence_last_value('rollup_marked_at'))
        """

    /// PUT …/installations/{installId}, some times a second (R13): checks that the database is the same.
    package static let identity = PreparedSQL(
        "SELECT \(sql: sql)")
}

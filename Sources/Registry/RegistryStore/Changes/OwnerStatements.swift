import PostgresClient

/// The SQL of bindings to users: the table `installation_owner`.
enum OwnerStatements {
    /// PUT …/installations/{installId} (R4): begins bindings.
    /// `$2` is the number. The row of a returning user exists already.
    static let begin = PreparedSQL(
        values: InsertedValues(
            "INSERT INTO installation_owner (app_id, number, user_id, install_id, session_id)",
            row: "$1, $2, $3, $4, $5", then: onReturn, scalars: 2, arrays: 3)
    ) { source in
        """
        INSERT INTO installation_owner (app_id, number, user_id, install_id, session_id)
        SELECT \(sql: source.app), $2::bigint, k.user_id, k.install_id, k.session_id
        FROM \(sql: source.beside("unnest($3::text[], $4::text[], $5::text[]) AS k (user_id, install_id, session_id)"))
        \(sql: onReturn)
        """
    }

    private static let onReturn: PostgresSQL = """
        ON CONFLICT (app_id, user_id, install_id)
        DO UPDATE SET number = excluded.number, session_id = excluded.session_id, left_at = NULL
        """

    /// Every call that ends a binding (R4, R6, R7): writes when bindings ended.
    /// `$2` is the time. The row stays: an erasure searches for it.
    static let end = PreparedSQL(
        """
        UPDATE installation_owner o SET left_at = $2
        FROM unnest($3::text[], $4::text[]) AS k (user_id, install_id)
        WHERE o.app_id = $1 AND o.user_id = k.user_id AND o.install_id = k.install_id
        """)
}

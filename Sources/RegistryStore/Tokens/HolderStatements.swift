import PostgresClient
import PushRegistry

/// The SQL of who holds a token (R1, R4): the table `token_holder`. Every transaction locks these rows before those of
/// installations.
enum HolderStatements {
    /// Every call that moves a token, or ends an installation: from now on these hold the tokens. Nil: nobody.
    static func move(_ holders: [(TokenAddress, InstallID?)], in app: AppNumber) -> PostgresStatement {
        PostgresStatement(
            moveSQL, app.rawValue, holders.map(\.0.provider.rawValue), holders.map(\.0.sha256),
            holders.map { $0.1?.rawValue })
    }

    private static let moveSQL = PreparedSQL(
        """
        UPDATE token_holder h SET install_id = k.install_id
        FROM unnest($2::text[]::provider[], $3::bytea[], $4::text[]) AS k (provider, token_sha256, install_id)
        WHERE h.app_id = $1 AND h.provider = k.provider AND h.token_sha256 = k.token_sha256
        """)

    /// DELETE …/installations/{id}, DELETE …/users/{id}: locks the tokens of these installations.
    static func lock(of installIDs: [InstallID], in app: AppNumber) -> PostgresStatement {
        PostgresStatement(lockSQL, app.rawValue, installIDs.map(\.rawValue))
    }

    private static let lockSQL = PreparedSQL(
        """
        WITH wanted AS MATERIALIZED (
            SELECT i.provider, i.token_sha256
            FROM unnest($2::text[]) AS k (install_id)
            CROSS JOIN LATERAL (
                SELECT provider, token_sha256 FROM installation
                WHERE app_id = $1 AND install_id = k.install_id AND token_sha256 IS NOT NULL OFFSET 0) AS i
            ORDER BY i.provider, i.token_sha256)
        SELECT h.provider::text, h.token_sha256
        FROM wanted AS k
        CROSS JOIN LATERAL (
            SELECT provider, token_sha256 FROM token_holder
            WHERE app_id = $1 AND provider = k.provider AND token_sha256 = k.token_sha256 FOR UPDATE) AS h
        """)
}

import PostgresClient
import PushRegistry

/// The SQL of the holders of tokens (R1, R4): the table `token_holder`. Every transaction locks these rows before those
/// of installations.
package enum HolderStatements {
    /// Adds tokens that have no row. Waits for a transaction that adds the same row.
    ///
    /// - Parameter holders: of some of the tokens.
    package static func add(
        _ tokens: some Sequence<TokenAddress>, heldBy holders: [TokenAddress: InstallID] = [:], in app: AppNumber
    ) -> PostgresStatement {
        let tokens = TokenAddress.inLockOrder(tokens)
        return addSQL(
            app.rawValue, tokens.map(\.provider.rawValue), tokens.map(\.sha256), tokens.map { holders[$0]?.rawValue })
    }

    /// PUT …/installations/{installId} (R1, R4): adds a row for each token that has none.
    static let addSQL = PreparedSQL(
        """
        INSERT INTO token_holder (app_id, provider, token_sha256, install_id)
        SELECT \(sql: AppRow.app), k.provider, k.token_sha256, k.install_id
        FROM \(sql: AppRow.beside("""
            unnest($2::text[]::provider[], $3::bytea[], $4::text[]) AS k (provider, token_sha256, install_id)
            """))
        ORDER BY k.provider, k.token_sha256
        ON CONFLICT DO NOTHING
        """)

    /// - Parameter holders: the new holder of each token; nil for none.
    package static func move(_ holders: [(TokenAddress, InstallID?)], in app: AppNumber) -> PostgresStatement {
        moveSQL(
            app.rawValue, holders.map(\.0.provider.rawValue), holders.map(\.0.sha256), holders.map { $0.1?.rawValue })
    }

    /// Every call that moves a token or ends an installation (R1, R4): moves tokens.
    static let moveSQL = PreparedSQL(
        """
        UPDATE token_holder h SET install_id = k.install_id
        FROM unnest($2::text[]::provider[], $3::bytea[], $4::text[]) AS k (provider, token_sha256, install_id)
        WHERE h.app_id = $1 AND h.provider = k.provider AND h.token_sha256 = k.token_sha256
        """)

    /// Locks tokens, and those that installations hold now.
    package static func lock(
        _ tokens: some Sequence<TokenAddress> = [TokenAddress](), of installIDs: [InstallID] = [], in app: AppNumber
    ) -> PostgresStatement {
        let tokens = Array(tokens)
        return lockSQL(app.rawValue, tokens.map(\.provider.rawValue), tokens.map(\.sha256), installIDs.map(\.rawValue))
    }

    /// Returns the rows, each with its holder. A statement that had to wait returns the newest version of a row.
    static let lockSQL = PreparedSQL(
        """
        WITH wanted AS MATERIALIZED (
            SELECT k.provider, k.token_sha256
            FROM unnest($2::text[]::provider[], $3::bytea[]) AS k (provider, token_sha256)
            UNION
            SELECT i.provider, i.token_sha256
            FROM unnest($4::text[]) AS k (install_id)
            CROSS JOIN LATERAL (
                SELECT provider, token_sha256 FROM installation
                WHERE app_id = $1 AND install_id = k.install_id AND token_sha256 IS NOT NULL OFFSET 0) AS i
        ), sorted AS MATERIALIZED (SELECT * FROM wanted ORDER BY provider, token_sha256)
        SELECT h.provider::text, h.token_sha256, h.install_id
        FROM sorted AS k
        CROSS JOIN LATERAL (
            SELECT provider, token_sha256, install_id FROM token_holder
            WHERE app_id = $1 AND provider = k.provider AND token_sha256 = k.token_sha256 FOR UPDATE) AS h
        """)

    /// Reads the rows of tokens without a lock.
    static func find(_ tokens: [TokenAddress], in app: AppNumber) -> PostgresStatement {
        findSQL(app.rawValue, tokens.map(\.provider.rawValue), tokens.map(\.sha256))
    }

    static let findSQL = PreparedSQL(
        """
        SELECT h.provider::text, h.token_sha256, h.install_id
        FROM unnest($2::text[]::provider[], $3::bytea[]) AS k (provider, token_sha256)
            JOIN token_holder h
                ON h.app_id = $1 AND h.provider = k.provider AND h.token_sha256 = k.token_sha256
        """)

    /// - Parameter rows: of `lock` or `find`.
    /// - Returns: the holder of each token; nil for none.
    package static func holders(_ rows: some Sequence<PostgresRow>, in app: AppNumber) throws -> [TokenAddress:
        InstallID?]
    {
        try rows.reduce(into: [:]) { holders, row in
            var reader = ColumnReader(row)
            let token = TokenAddress(app: app, provider: try reader.nextLabel(), sha256: try reader.next())
            holders[token] = .some(try reader.next(String?.self).map { try InstallID($0) })
        }
    }
}

extension TokenAddress {
    /// In the order of the table's keys, in which every transaction locks rows.
    static func inLockOrder(_ tokens: some Sequence<TokenAddress>) -> [TokenAddress] {
        tokens.sorted { $0.precedesInLockOrder($1) }
    }

    /// The names of providers ascend as the values of the enum do.
    package func precedesInLockOrder(_ other: TokenAddress) -> Bool {
        guard provider == other.provider else { return provider.rawValue < other.provider.rawValue }
        return sha256.lexicographicallyPrecedes(other.sha256)
    }
}

import PostgresClient

/// Which migrations a database has, for `GET /readyz`.
public enum SchemaVersion {
    /// GET /readyz: reads the newest migration.
    private static let newestMigration = PreparedSQL(
        "SELECT coalesce(max(version), 0)::bigint FROM schema_migration")

    /// The number of the newest migration; 0 if there is none.
    ///
    /// - Throws: `PostgresError`, also if there is no table of migrations.
    public static func read(_ postgres: PostgresClient) async throws -> Int {
        try await postgres.read(newestMigration())[0].decode(0)
    }

    /// Whether the database responds.
    public static func isReadable(_ postgres: PostgresClient) async -> Bool {
        (try? await read(postgres)) != nil
    }
}

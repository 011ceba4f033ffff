import PostgresClient
import PushRegistry

/// The SQL of apps and their API keys.
enum DirectoryStatements {
    static let named = [
        NamedStatement("version", version), NamedStatement("moment", moment),
        NamedStatement("databaseEpoch", databaseEpoch), NamedStatement("apps", apps),
        NamedStatement("revision", revision), NamedStatement("keys", keys), NamedStatement("drawNumber", drawNumber),
        NamedStatement("createApp", createApp),
        NamedStatement("replacePolicy", replacePolicy), NamedStatement("addKey", addKey),
        NamedStatement("revokeKey", revokeKey), NamedStatement("recordUse", recordUseSQL),
        NamedStatement("lastUses", lastUses),
    ]

    static let version = PreparedSQL(
        serving: "Every request: reads the version of apps and keys, to validate the cache.",
        "SELECT version FROM directory_version")

    static let databaseEpoch = PreparedSQL(
        serving: "Every request after a change of apps or keys: reads the database's epoch.",
        "SELECT epoch FROM change_epoch")

    /// Runs after a read of an app on Citus. If the directory still has the version by which the call was authorized,
    /// it also had it during the read.
    static let moment = PreparedSQL(
        serving: "Registrations and fetches of notifications, on Citus: reads the directory's version and the time.",
        "SELECT version, statement_timestamp() FROM directory_version")

    /// A revision is a digest of the policy's text, which PostgreSQL writes in one form.
    private static let revisionOfPolicy: PostgresSQL =
        "left(encode(sha256(convert_to(policy::text, 'UTF8')), 'hex'), 32)"

    static let apps = PreparedSQL(
        serving: "Every request after a change of apps or keys: reads the apps.",
        "SELECT id, identifier, policy, \(sql: revisionOfPolicy), identity_key FROM app")

    static let revision = PreparedSQL(
        serving: "PUT and PATCH /v1/apps/{app}, apps create: reads the policy's revision.",
        "SELECT \(sql: revisionOfPolicy) FROM app WHERE identifier = $1")

    static let keys = PreparedSQL(
        serving: "Every request after a change of apps or keys: reads the keys.",
        "SELECT id, app_id, name, roles::text[], secret_sha256, created_at, revoked_at FROM api_key")

    static let drawNumber = PreparedSQL(
        serving: "PUT /v1/apps/{app}, apps create: draws the number of a new app.",
        "SELECT nextval('app_id_seq')::integer")

    /// Another caller may have created the app since. Then its policy is replaced if $4 is true.
    static let createApp = PreparedSQL(
        serving: "PUT /v1/apps/{app}, apps create: creates an app.",
        """
        INSERT INTO app (id, identifier, policy) OVERRIDING SYSTEM VALUE VALUES ($3, $1, $2::jsonb)
        ON CONFLICT (identifier) DO UPDATE SET policy = excluded.policy, updated_at = now() WHERE $4
        RETURNING id, xmax = 0, \(sql: revisionOfPolicy)
        """)

    static let replacePolicy = PreparedSQL(
        serving: "PUT and PATCH /v1/apps/{app}, apps create: replaces a policy.",
        """
        UPDATE app SET policy = $2::jsonb, updated_at = now()
        WHERE identifier = $1 AND ($3::text[] IS NULL OR \(sql: revisionOfPolicy) = ANY ($3))
        RETURNING id, false, \(sql: revisionOfPolicy)
        """)

    static let addKey = PreparedSQL(
        serving: "POST …/keys, keys create: adds an API key.",
        """
        INSERT INTO api_key (id, app_id, name, roles, secret_sha256, created_at)
        VALUES ($1, $2, $3, $4::text[]::role[], $5, $6)
        """)

    static let revokeKey = PreparedSQL(
        serving: "DELETE …/keys/{keyId}, keys revoke: revokes an API key.",
        """
        UPDATE api_key SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 AND app_id = $2 RETURNING id
        """)

    // MARK: Uses of keys

    /// Services write the same row, and the latest hour stays.
    static func recordUse(of keyID: String, at time: Timestamp) -> PostgresStatement {
        PostgresStatement(recordUseSQL, keyID, time.postgres)
    }

    private static let recordUseSQL = PreparedSQL(
        serving: "A service's background task: records when a key was used last.",
        """
        INSERT INTO api_key_use AS known (key_id, last_used_at) VALUES ($1, $2)
        ON CONFLICT (key_id) DO UPDATE SET last_used_at = excluded.last_used_at
            WHERE known.last_used_at < excluded.last_used_at
        """)

    static let lastUses = PreparedSQL(
        serving: "GET …/keys: reads when the app's keys were used last.",
        "SELECT key_id, last_used_at FROM api_key_use JOIN api_key ON id = key_id WHERE app_id = $1")
}

import PostgresClient
import PushRegistry

/// The SQL of apps and their API keys.
enum DirectoryStatements {
    /// Every request: reads the version of apps and keys, to validate the cache.
    static let version = PreparedSQL(
        "SELECT version FROM directory_version")

    /// Every request after a change of apps or keys: reads the database's epoch.
    static let databaseEpoch = PreparedSQL(
        "SELECT epoch FROM change_epoch")

    /// Runs after reads of apps. If the directory still has the version by which a call was authorized, it also had it
    /// during the read. It is a statement of its own, because Citus executes one that reads tables of an app and of the
    /// coordinator in steps, of which one may fetch all rows of the app.
    static let moment = PreparedSQL(
        "SELECT version, statement_timestamp() FROM directory_version")

    /// A revision is a digest of the policy's text, which PostgreSQL writes in one form.
    private static let revisionOfPolicy: PostgresSQL =
        "left(encode(sha256(convert_to(policy::text, 'UTF8')), 'hex'), 32)"

    /// Every request after a change of apps or keys: lists the changed app of each version after `$1`.
    static let changes = PreparedSQL(
        "SELECT app_id, is_of_key FROM directory_change WHERE version > $1")

    /// Every request after a change of apps or keys, if versions are missing: lists all apps as changed.
    static let allApps = PreparedSQL(
        "SELECT id, is_of_key FROM app CROSS JOIN (VALUES (false), (true)) AS k (is_of_key)")

    /// Every request after a change of apps or keys: reads these apps.
    static let apps = PreparedSQL(
        """
        SELECT id, identifier, policy, \(sql: revisionOfPolicy), identity_key, deleting_since FROM app
        WHERE id = ANY ($1)
        """)

    /// PUT and PATCH /v1/apps/{app}, apps create: reads and locks a policy. Foreign keys that refer to the app do not
    /// wait.
    static let lockPolicy = PreparedSQL(
        """
        SELECT id, policy, \(sql: revisionOfPolicy), deleting_since IS NOT NULL FROM app WHERE identifier = $1
        FOR NO KEY UPDATE
        """)

    /// Every request after a change of apps or keys: reads the keys of these apps.
    static let keys = PreparedSQL(
        """
        SELECT id, app_id, name, roles::text[], secret_sha256, created_at, revoked_at, expires_at
        FROM api_key WHERE app_id = ANY ($1)
        """)

    /// PUT /v1/apps/{app}, apps create: draws the number of a new app.
    static let drawNumber = PreparedSQL(
        "SELECT nextval('app_id_seq')::integer")

    /// PUT /v1/apps/{app}, apps create: creates the app, unless another caller has created it since.
    static let createApp = PreparedSQL(
        """
        INSERT INTO app (id, identifier, policy) OVERRIDING SYSTEM VALUE VALUES ($3, $1, $2::jsonb)
        ON CONFLICT (identifier) DO NOTHING RETURNING \(sql: revisionOfPolicy)
        """)

    /// PUT and PATCH /v1/apps/{app}: replaces a policy.
    static let replacePolicy = PreparedSQL(
        """
        UPDATE app SET policy = $2::jsonb, updated_at = now() WHERE id = $1 RETURNING \(sql: revisionOfPolicy)
        """)

    /// POST …/keys, keys create: deletes the app's revoked keys but the `$2` newest, and those that were revoked more
    /// than `$3` seconds ago.
    static let forgetRevokedKeys = PreparedSQL(
        """
        WITH gone AS (
            SELECT id FROM (
                SELECT id, revoked_at, row_number() OVER (ORDER BY revoked_at DESC, id) AS place
                FROM api_key WHERE app_id = $1 AND revoked_at IS NOT NULL) AS k
            WHERE place > $2::bigint OR revoked_at < now() - $3::bigint * interval '1 second'
        ), unused AS (
            DELETE FROM api_key_use WHERE key_id IN (SELECT id FROM gone)
        )
        DELETE FROM api_key WHERE id IN (SELECT id FROM gone)
        """)

    /// Changes of keys, of topics and of segments: those of one app wait for each other. Else two segments could be
    /// made to name each other. Foreign keys that refer to the app do not wait.
    static let lockApp = PreparedSQL("SELECT FROM app WHERE id = $1 FOR NO KEY UPDATE")

    /// POST …/keys, keys create: counts the keys that are not revoked. Runs after the app's row was locked.
    static let countKeys = PreparedSQL("SELECT count(*) FROM api_key WHERE app_id = $1 AND revoked_at IS NULL")

    /// POST …/keys, keys create: adds an API key.
    static let addKey = PreparedSQL(
        """
        INSERT INTO api_key (id, app_id, name, roles, secret_sha256, created_at, expires_at)
        VALUES ($1, $2, $3, $4::text[]::role[], $5, $6, $7)
        """)

    /// DELETE …/keys/{keyId}, keys revoke: revokes an API key.
    static let revokeKey = PreparedSQL("UPDATE api_key SET revoked_at = now() WHERE id = $1 AND app_id = $2")

    /// DELETE …/keys/{keyId}, keys revoke: checks the key. Runs after the app's row was locked.
    static let isRevoked = PreparedSQL("SELECT revoked_at IS NOT NULL FROM api_key WHERE id = $1 AND app_id = $2")

    // MARK: Uses of keys

    /// A service's background task: records when a key was used last. Services write the same row, and the latest hour
    /// stays.
    static let recordUse = PreparedSQL(
        """
        INSERT INTO api_key_use AS known (key_id, last_used_at) VALUES ($1, $2)
        ON CONFLICT (key_id) DO UPDATE SET last_used_at = excluded.last_used_at
            WHERE known.last_used_at < excluded.last_used_at
        """)

    /// GET …/keys: reads when the app's keys were used last.
    static let lastUses = PreparedSQL(
        "SELECT key_id, last_used_at FROM api_key_use JOIN api_key ON id = key_id WHERE app_id = $1")
}

/// The SQL that begins the deletion of an app, and reports its progress. `$1` is the app's number.
package enum AppDeletionStatements {
    /// DELETE /v1/apps/{app}, apps delete: locks the app; `$1` is its id. No rows that refer to it are added meanwhile.
    static let lock = PreparedSQL("SELECT id, deleting_since FROM app WHERE identifier = $1 FOR UPDATE")

    /// DELETE /v1/apps/{app}, apps delete: begins.
    static let begin = PreparedSQL("UPDATE app SET deleting_since = now() WHERE id = $1 RETURNING deleting_since")

    /// Deletes the keys with their uses, and the sessions of the console that they began.
    package static let keys = [
        PreparedSQL("SELECT FROM api_key WHERE app_id = $1 FOR UPDATE"),
        PreparedSQL("DELETE FROM console_session WHERE key_id IN (SELECT id FROM api_key WHERE app_id = $1)"),
        PreparedSQL("DELETE FROM api_key_use WHERE key_id IN (SELECT id FROM api_key WHERE app_id = $1)"),
        PreparedSQL("DELETE FROM api_key WHERE app_id = $1"),
    ]

    /// GET and DELETE /v1/apps/{app}, apps delete: counts the installations that are left.
    static let left = PreparedSQL("SELECT count(*) FROM installation WHERE app_id = $1")
}

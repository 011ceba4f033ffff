import PostgresClient
import PushRegistry

/// The SQL of registration, set-based: one statement serves a whole batch, its parameters being arrays.
enum RegistrationStatements {
    /// R2: which of these installations the registry knows exactly so. A row whose binding changed by other ways than a
    /// registration, that is not active or that seems replaced is left to a transaction.
    static let lookUp = PreparedSQL(
        """
        SELECT k.position, i.registration_digest, i.generation, i.last_seen_at, statement_timestamp(), i.token_sha256,
            i.user_id, i.session_id, i.credential_issued_at
        FROM unnest($1::integer[], $2::text[]) WITH ORDINALITY AS k (app_id, install_id, position)
        JOIN installation i USING (app_id, install_id)
        WHERE i.generation = i.registration_generation AND i.state = 'active' AND i.probably_replaced_by IS NULL
        """)

    static let now = PreparedSQL("SELECT clock_timestamp()")

    /// Locks, in the order of their keys, the installations themselves ($1, $2) and, of those that may concern others, the
    /// holders of the tokens (R4) and whom a new installation may replace (R5; at most 16 of a keychain id, which a
    /// hostile client can share at will).
    static let lock = PreparedSQL(
        """
        WITH wanted AS MATERIALIZED (
            SELECT i.app_id, i.install_id
            FROM unnest($1::integer[], $2::text[]) AS k (app_id, install_id)
            JOIN installation i USING (app_id, install_id)
            UNION
            SELECT i.app_id, i.install_id
            FROM unnest($3::integer[], $4::text[], $5::bytea[]) AS t (app_id, provider, token_sha256)
            JOIN installation i ON i.app_id = t.app_id AND i.provider = t.provider::provider
                AND i.token_sha256 = t.token_sha256
            UNION
            SELECT o.app_id, o.install_id
            FROM unnest($3::integer[], $6::text[]) AS d (app_id, keychain_id)
            CROSS JOIN LATERAL (
                SELECT i.app_id, i.install_id FROM installation i
                WHERE i.app_id = d.app_id AND i.keychain_id = d.keychain_id LIMIT 16) AS o
        )
        SELECT \(sql: InstallationColumns.list)
        FROM wanted w JOIN installation i USING (app_id, install_id)
        ORDER BY i.app_id, i.install_id
        FOR UPDATE OF i
        """)

    /// R1, R4: gives up the tokens that go to another row, before anybody claims them: the unique index is checked row by
    /// row. A row that gets another token itself is superseded only until `update`.
    static let release = PreparedSQL(
        """
        UPDATE installation i
        SET token = NULL, token_sha256 = NULL, p256dh = NULL, auth = NULL, state = 'superseded',
            generation = k.generation, state_changed_at = k.state_changed_at
        FROM unnest($1::integer[], $2::text[], $3::bigint[], $4::timestamptz[])
            AS k (app_id, install_id, generation, state_changed_at)
        WHERE i.app_id = k.app_id AND i.install_id = k.install_id
        """)

    /// R5.
    static let markReplaced = PreparedSQL(
        """
        UPDATE installation i SET probably_replaced_by = k.probably_replaced_by
        FROM unnest($1::integer[], $2::text[], $3::text[]) AS k (app_id, install_id, probably_replaced_by)
        WHERE i.app_id = k.app_id AND i.install_id = k.install_id
        """)

    /// R2: an unchanged registration whose sight was due.
    static let touch = PreparedSQL(
        """
        UPDATE installation i SET last_seen_at = k.last_seen_at
        FROM unnest($1::integer[], $2::text[], $3::timestamptz[]) AS k (app_id, install_id, last_seen_at)
        WHERE i.app_id = k.app_id AND i.install_id = k.install_id
        """)

    static let update = PreparedSQL(
        """
        UPDATE installation i SET (\(sql: InstallationRow.columns.names)) = ROW (\(sql: InstallationRow.columns.values))
        FROM \(sql: InstallationRow.columns.unnest)
        WHERE i.app_id = k.app_id AND i.install_id = k.install_id
        """)

    /// R2: another snapshot under the same binding, which the history of settings gains at once.
    static let updateSnapshots = PreparedSQL(
        """
        WITH written AS (
            UPDATE installation i
            SET (\(sql: InstallationRow.sightAndSnapshot.names)) = ROW (\(sql: InstallationRow.sightAndSnapshot.values))
            FROM \(sql: InstallationRow.sightAndSnapshot.unnest)
            WHERE i.app_id = k.app_id AND i.install_id = k.install_id
            RETURNING \(sql: snapshotOfRow)
        )
        \(sql: appendWritten)
        """)

    /// New installations, each with the first entry of its history of settings.
    static let insert = PreparedSQL(
        """
        WITH written AS (
            INSERT INTO installation AS i (\(sql: InstallationRow.columns.names))
            SELECT \(sql: InstallationRow.columns.values) FROM \(sql: InstallationRow.columns.unnest)
            RETURNING \(sql: snapshotOfRow)
        )
        \(sql: appendWritten)
        """)

    private static let snapshotOfRow: PostgresSQL = """
        i.last_seen_at, i.app_id, i.install_id, \(sql: SnapshotColumns.batch.list.names(of: "i"))
        """

    private static let appendWritten: PostgresSQL = """
        INSERT INTO settings_snapshot (at, app_id, install_id, \(sql: SnapshotColumns.batch.list.names))
        SELECT * FROM written
        """

    /// R12.
    static let appendEvents = PreparedSQL(
        """
        INSERT INTO token_event (\(sql: TokenEvent.batch.list.names))
        SELECT \(sql: TokenEvent.batch.list.values) FROM \(sql: TokenEvent.batch.list.unnest)
        """)

    /// The history of settings: what these installations have just been given.
    static let appendSnapshots = PreparedSQL(
        """
        INSERT INTO settings_snapshot (at, app_id, install_id, \(sql: SnapshotColumns.batch.list.names))
        SELECT \(sql: snapshotOfRow)
        FROM unnest($1::integer[], $2::text[]) AS k (app_id, install_id)
        JOIN installation i USING (app_id, install_id)
        """)
}

import PostgresClient
import PushRegistry

/// The SQL that writes changed installations, set-based. `$1` is the app. Each statement writes what the rules have
/// decided (`ChangeSet`).
enum ChangeStatements {
    /// Writes only rows that still have the revision that was read. The snapshot stays. If the set of typed tokens
    /// changes, the digest of a registration with such tokens is forgotten (`StoredDigest`).
    static let step = PreparedSQL(
        """
        UPDATE installation i
        SET token = CASE WHEN k.keeps_token THEN i.token END,
            p256dh = CASE WHEN k.keeps_token THEN i.p256dh END, auth = CASE WHEN k.keeps_token THEN i.auth END,
            user_id = CASE WHEN k.keeps_owner THEN i.user_id END,
            session_id = CASE WHEN k.keeps_owner THEN i.session_id END,
            session_expires_at = CASE WHEN k.keeps_owner THEN i.session_expires_at END,
            credential_issued_at = CASE WHEN k.keeps_owner THEN i.credential_issued_at END,
            registration_digest = CASE WHEN k.changes_tokens AND octet_length(i.registration_digest) > 16
                THEN '\\x00' ELSE i.registration_digest END,
            \(sql: InstallationStep.layout.written.assignments), revision = i.revision + 1
        FROM \(sql: InstallationStep.layout.columns.unnest(from: 2))
        WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.old_revision
        """)

    /// PUT …/installations/{installId} (R3, R4, R10): writes another binding, under locks.
    static let bind = PreparedSQL(
        """
        UPDATE installation i SET \(sql: BindingRow.layout.written.assignments), revision = i.revision + 1
        FROM \(sql: BindingRow.layout.columns.unnest(from: 2))
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// PUT …/installations/{installId} (R2): writes another snapshot, under locks.
    /// `$2` is the time.
    static let snap = PreparedSQL(
        """
        UPDATE installation i
        SET \(sql: BindingRow.ofSnapshot.written.assignments), snapshot_at = greatest(i.snapshot_at, $2),
            revision = i.revision + 1
        FROM \(sql: BindingRow.ofSnapshot.columns.unnest(from: 3))
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// PUT …/installations/{installId} (R1): creates installations under the locks of their tokens.
    /// `$2` is the time.
    static let insert = PreparedSQL(
        """
        INSERT INTO installation (app_id, created_at, revision, snapshot_at, \(sql: BindingRow.inserted.written.names))
        SELECT \(sql: AppRow.app), k.registered_at, k.generation, $2, \(sql: BindingRow.inserted.written.values)
        FROM \(sql: AppRow.beside(BindingRow.inserted.columns.unnest(from: 3)))
        ORDER BY k.install_id
        """)

    static func delete(_ installations: [StoredInstallation], in app: AppNumber) -> PostgresStatement {
        deleteSQL(app.rawValue, installations.map(\.installation.key.installID.rawValue), installations.map(\.revision))
    }

    /// Deletes only rows that still have the revision that was read.
    private static let deleteSQL = PreparedSQL(
        """
        DELETE FROM installation i USING unnest($2::text[], $3::bigint[]) AS k (install_id, revision)
        WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.revision
        """)
}

import PostgresClient
import PushRegistry

/// The SQL that writes changed installations, set-based. `$1` is the app. Each statement writes what the rules have
/// decided (`ChangeSet`).
enum ChangeStatements {
    /// Writes only rows that still have the revision that was read. The snapshot stays.
    static let step = PreparedSQL(
        """
        UPDATE installation i
        SET token = CASE WHEN k.keeps_token THEN i.token END,
            token_sha256 = CASE WHEN k.keeps_token THEN i.token_sha256 END,
            p256dh = CASE WHEN k.keeps_token THEN i.p256dh END, auth = CASE WHEN k.keeps_token THEN i.auth END,
            user_id = CASE WHEN k.keeps_owner THEN i.user_id END,
            session_id = CASE WHEN k.keeps_owner THEN i.session_id END,
            session_expires_at = CASE WHEN k.keeps_owner THEN i.session_expires_at END,
            credential_issued_at = CASE WHEN k.keeps_owner THEN i.credential_issued_at END,
            \(sql: InstallationStep.written.assignments), revision = i.revision + 1
        FROM \(sql: InstallationStep.columns.unnest(from: 2))
        WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.old_revision
        """)

    /// PUT …/installations/{installId} (R3, R4, R10): writes another binding, under locks.
    static let bind = PreparedSQL(
        """
        UPDATE installation i SET \(sql: BindingRow.written.assignments), revision = i.revision + 1
        FROM \(sql: BindingRow.columns.unnest(from: 2))
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// PUT …/installations/{installId} (R2): writes another snapshot, under locks.
    /// `$2` is the time.
    static let snap = PreparedSQL(
        """
        UPDATE installation i
        SET \(sql: SnapshotRow.written.assignments), snapshot_at = greatest(i.snapshot_at, $2),
            revision = i.revision + 1
        FROM \(sql: SnapshotRow.columns.unnest(from: 3))
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// PUT …/installations/{installId} (R1): creates installations under the locks of their tokens.
    /// `$2` is the time.
    static let insert = PreparedSQL(
        values: InsertedValues(
            "INSERT INTO installation (app_id, created_at, revision, snapshot_at, \(sql: InsertedRow.written.names))",
            row: """
                $1, \(sql: InsertedRow.columns.placeholder(of: "registered_at", from: 3)), \
                \(sql: InsertedRow.columns.placeholder(of: "generation", from: 3)), $2, \
                \(sql: InsertedRow.columns.placeholders(from: 3))
                """,
            scalars: 2, arrays: InsertedRow.columns.count)
    ) { source in
        """
        INSERT INTO installation (app_id, created_at, revision, snapshot_at, \(sql: InsertedRow.written.names))
        SELECT \(sql: source.app), k.registered_at, k.generation, $2, \(sql: InsertedRow.written.values)
        FROM \(sql: source.beside(InsertedRow.columns.unnest(from: 3)))
        ORDER BY k.install_id
        """
    }

    /// PUT …/installations/{installId} (R2): copies the snapshots that are about to be replaced.
    /// `$2` is the time, `$3` are the installations.
    static let keepSnapshots = PreparedSQL(
        SnapshotStatements.keep(
            "(\(sql: SnapshotStatements.present(in: "unnest($3::text[]) AS k (install_id)")))", at: "$2"))

    static func delete(_ installations: [StoredInstallation], in app: AppNumber) -> PostgresStatement {
        PostgresStatement(
            deleteSQL, app.rawValue, installations.map(\.installation.key.installID.rawValue),
            installations.map(\.revision))
    }

    /// Deletes only rows that still have the revision that was read.
    private static let deleteSQL = PreparedSQL(
        """
        DELETE FROM installation i USING unnest($2::text[], $3::bigint[]) AS k (install_id, revision)
        WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.revision
        """)
}

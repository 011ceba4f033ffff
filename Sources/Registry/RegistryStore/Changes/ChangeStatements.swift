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

    /// Deletes only rows that still have the revision that was read.
    static let delete = PreparedSQL(
        """
        DELETE FROM installation i USING unnest($2::text[], $3::bigint[]) AS k (install_id, revision)
        WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.revision
        """)
}

/// The arrays of a set-based statement whose rows may bring a snapshot.
struct RowLayout<Row> {
    /// The keys that find rows, and other inputs of the statement.
    private let keys: BatchColumns<Row>
    private let fields: BatchColumns<Row>
    private let snapshot: (@Sendable (Row) -> Snapshot)?

    /// The columns that the statement writes.
    let written: ColumnList
    /// All arrays: the keys, then the written columns.
    let columns: ColumnList

    init(
        keys: [BatchColumns<Row>.Column], written fields: [BatchColumns<Row>.Column],
        snapshot: (@Sendable (Row) -> Snapshot)? = nil
    ) {
        self.keys = BatchColumns(keys)
        self.fields = BatchColumns(fields)
        self.snapshot = snapshot
        written = self.fields.list + (snapshot == nil ? ColumnList(columns: []) : SnapshotColumns.batch.list)
        columns = self.keys.list + written
    }

    /// The app is `$1`; the time, if there is one, `$2`. The arrays follow. Nil without rows.
    func statement(
        _ prepared: PreparedSQL, _ rows: [Row], of app: AppNumber, at time: Timestamp? = nil
    ) -> PostgresStatement? {
        guard !rows.isEmpty else { return nil }
        return PostgresStatement(prepared) { binds in
            binds.bind(app.rawValue)
            if let time { binds.bind(time.postgres) }
            keys.bind(rows, to: &binds)
            fields.bind(rows, to: &binds)
            if let snapshot { SnapshotColumns.batch.bind(rows.map(snapshot), to: &binds) }
        }
    }
}

/// A registration with other values under the same binding, and the row that the look-up found.
struct ChangedRow: Sendable {
    let pending: PendingRegistration
    let found: RegistrationFinding.Bound
    let cell: Int64

    var sessionExpiresAt: Timestamp? { pending.registration.owner?.session?.expiresAt }

    static let layout = RowLayout<ChangedRow>(
        keys: [
            .init("install_id", "text") { $0.pending.key.rawValue },
            .init("old_revision", "bigint") { $0.found.revision },
            .init("is_new_snapshot", "boolean") { !$0.found.hasSnapshot },
        ],
        written: [
            .init("p256dh", "text") { $0.pending.registration.keys?.p256dh },
            .init("auth", "text") { $0.pending.registration.keys?.auth },
            .init("session_expires_at", "timestamptz") { $0.sessionExpiresAt?.postgres },
            .init("cell", "bigint") { $0.cell },
            .init("registration_digest", "bytea") { $0.pending.digest },
            .init("snapshot_digest", "bytea") { $0.pending.registration.snapshotDigest },
        ], snapshot: { $0.pending.registration.snapshot })
}

/// An installation as the rules have decided, with the columns that the rules do not use.
struct BindingRow: Sendable {
    /// Nil: it is new.
    let before: StoredInstallation?
    let installation: Installation
    let pending: PendingRegistration
    let cell: Int64
    /// `StoredDigest`.
    let digest: [UInt8]

    /// Nil if the same batch has moved the token to another installation afterwards.
    private var token: Token? { installation.tokenSHA256 == nil ? nil : pending.registration.token }

    /// The user who has registered, or whom a delivery key has kept.
    private var registrant: Int64? {
        let digest = pending.userSHA256 ?? installation.owner.map { UserDigest.sha256($0.userID) }
        return digest.map(UserDigest.registrant)
    }

    private static let id = BatchColumns<BindingRow>.Column("install_id", "text") {
        $0.installation.key.installID.rawValue
    }

    private static let binding: [BatchColumns<BindingRow>.Column] = [
        .init("provider", "text", cast: "provider") { $0.installation.provider.rawValue },
        .init("token", "text") { $0.token?.text },
        .init("token_sha256", "bytea") { $0.installation.tokenSHA256 },
        .init("p256dh", "text") { $0.installation.keys?.p256dh },
        .init("auth", "text") { $0.installation.keys?.auth },
        .init("user_id", "text") { $0.installation.owner?.userID.rawValue },
        .init("session_id", "text") { $0.installation.owner?.session?.id.rawValue },
        .init("session_expires_at", "timestamptz") { $0.installation.owner?.session?.expiresAt?.postgres },
        .init("credential_issued_at", "timestamptz") { $0.installation.credentialIssuedAt?.postgres },
        .init("registrant", "bigint") { $0.registrant },
        .init("state", "text", cast: "installation_state") { $0.installation.state.rawValue },
        .init("generation", "bigint") { $0.installation.generation },
        .init("registration_generation", "bigint") { $0.installation.registrationGeneration },
        .init("epoch", "bigint") { $0.installation.epoch },
        .init("probably_replaced_by", "text") { $0.installation.probablyReplacedBy?.rawValue },
        .init("registered_at", "timestamptz") { $0.installation.registeredAt.postgres },
        .init("last_seen_at", "timestamptz") { $0.installation.lastSeenAt.postgres },
        .init("state_changed_at", "timestamptz") { $0.installation.stateChangedAt.postgres },
        .init("cell", "bigint") { $0.cell },
        .init("registration_digest", "bytea") { $0.digest },
        .init("topic_choices", choices: { $0.installation.topicChoices }),
        .init("topics", choices: { $0.installation.topics }),
    ]

    /// Beside a new snapshot.
    private static let sending: [BatchColumns<BindingRow>.Column] = [
        .init("snapshot_digest", "bytea") { $0.installation.snapshotDigest },
        .init("snapshot_sender", "bigint") { $0.registrant },
    ]

    /// An installation that is there.
    static let layout = RowLayout(keys: [id], written: binding)
    /// The snapshot of an installation that is there.
    static let ofSnapshot = RowLayout(keys: [id], written: sending, snapshot: { $0.pending.registration.snapshot })
    /// A new installation, whole.
    static let inserted = RowLayout(
        keys: [], written: [id] + binding + sending, snapshot: { $0.pending.registration.snapshot })
}

/// A change of an installation that keeps its snapshot, and its token and owner unless it loses them.
struct InstallationStep: Sendable {
    let before: StoredInstallation
    let after: Installation
    let changesTokens: Bool

    static let layout = RowLayout<InstallationStep>(
        keys: [
            .init("install_id", "text") { $0.after.key.installID.rawValue },
            .init("old_revision", "bigint") { $0.before.revision },
            .init("keeps_token", "boolean") { $0.after.tokenSHA256 != nil },
            .init("keeps_owner", "boolean") { $0.after.owner != nil },
            .init("changes_tokens", "boolean") { $0.changesTokens },
        ],
        written: [
            .init("token_sha256", "bytea") { $0.after.tokenSHA256 },
            .init("state", "text", cast: "installation_state") { $0.after.state.rawValue },
            .init("generation", "bigint") { $0.after.generation },
            .init("epoch", "bigint") { $0.after.epoch },
            .init("probably_replaced_by", "text") { $0.after.probablyReplacedBy?.rawValue },
            .init("last_seen_at", "timestamptz") { $0.after.lastSeenAt.postgres },
            .init("state_changed_at", "timestamptz") { $0.after.stateChangedAt.postgres },
            .init("topic_choices", choices: { $0.after.topicChoices }),
            .init("topics", choices: { $0.after.topics }),
        ])
}

import PostgresClient
import PushRegistry

/// An installation as a batch leaves it, with what the rules do not look at: the token itself and the snapshot.
package struct InstallationRow: Sendable {
    package let installation: Installation
    package let token: Token?
    package let registrationDigest: [UInt8]
    package let snapshot: Snapshot

    package init(installation: Installation, token: Token?, registrationDigest: [UInt8], snapshot: Snapshot) {
        self.installation = installation
        self.token = token
        self.registrationDigest = registrationDigest
        self.snapshot = snapshot
    }

    /// The columns before the snapshot's.
    package static let binding = BatchColumns<InstallationRow>([
        .init("app_id", "integer") { $0.installation.key.app.rawValue },
        .init("install_id", "text") { $0.installation.key.installID.rawValue },
        .init("provider", "text", cast: "provider") { $0.installation.provider.rawValue },
        .init("token", "text") { $0.token?.text },
        .init("token_sha256", "bytea") { $0.installation.tokenSHA256 },
        .init("p256dh", "text") { $0.installation.keys?.p256dh },
        .init("auth", "text") { $0.installation.keys?.auth },
        .init("user_id", "text") { $0.installation.owner?.userID.rawValue },
        .init("session_id", "text") { $0.installation.owner?.session?.id.rawValue },
        .init("session_expires_at", "timestamptz") { $0.installation.owner?.session?.expiresAt?.postgres },
        .init("credential_issued_at", "timestamptz") { $0.installation.credentialIssuedAt?.postgres },
        .init("state", "text", cast: "installation_state") { $0.installation.state.rawValue },
        .init("generation", "bigint") { $0.installation.generation },
        .init("registration_generation", "bigint") { $0.installation.registrationGeneration },
        .init("probably_replaced_by", "text") { $0.installation.probablyReplacedBy?.rawValue },
        .init("created_at", "timestamptz") { $0.installation.createdAt.postgres },
        .init("registered_at", "timestamptz") { $0.installation.registeredAt.postgres },
        .init("last_seen_at", "timestamptz") { $0.installation.lastSeenAt.postgres },
        .init("state_changed_at", "timestamptz") { $0.installation.stateChangedAt.postgres },
        .init("registration_digest", "bytea") { $0.registrationDigest },
        .init("snapshot_digest", "bytea") { $0.installation.snapshotDigest },
    ])

    /// Every column of the table.
    package static let columns = binding.list + SnapshotColumns.batch.list

    /// A statement over all `columns`.
    static func statement(_ prepared: PreparedSQL, _ rows: [InstallationRow]) -> PostgresStatement {
        statement(prepared, binding, rows)
    }

    /// What a registration that leaves the binding alone writes before the snapshot, and of which row.
    private static let sight = BatchColumns<InstallationRow>([
        .init("app_id", "integer") { $0.installation.key.app.rawValue },
        .init("install_id", "text") { $0.installation.key.installID.rawValue },
        .init("last_seen_at", "timestamptz") { $0.installation.lastSeenAt.postgres },
        .init("registration_digest", "bytea") { $0.registrationDigest },
        .init("snapshot_digest", "bytea") { $0.installation.snapshotDigest },
    ])
    static let sightAndSnapshot = sight.list + SnapshotColumns.batch.list

    /// A statement over `sightAndSnapshot`.
    static func sightStatement(_ prepared: PreparedSQL, _ rows: [InstallationRow]) -> PostgresStatement {
        statement(prepared, sight, rows)
    }

    /// The snapshots are taken out once, not for each of their columns.
    private static func statement(
        _ prepared: PreparedSQL, _ columns: BatchColumns<InstallationRow>, _ rows: [InstallationRow]
    ) -> PostgresStatement {
        PostgresStatement(prepared) { binds in
            columns.bind(rows, to: &binds)
            SnapshotColumns.batch.bind(rows.map(\.snapshot), to: &binds)
        }
    }
}

extension TokenEvent {
    package static let batch = BatchColumns<TokenEvent>([
        .init("app_id", "integer") { $0.key.app.rawValue },
        .init("install_id", "text") { $0.key.installID.rawValue },
        .init("event", "text", cast: "event_kind") { $0.kind.rawValue },
        .init("reason", "text") { $0.reason.rawValue },
        .init("actor", "text") { $0.actor },
        .init("at", "timestamptz") { $0.at.postgres },
        .init("provider", "text", cast: "provider") { $0.provider.rawValue },
        .init("token_sha256", "bytea") { $0.tokenSHA256 },
        .init("user_id", "text") { $0.userID?.rawValue },
        .init("previous_user_id", "text") { $0.previousUserID?.rawValue },
        .init("state", "text", cast: "installation_state") { $0.state.rawValue },
        .init("generation_before", "bigint") { $0.generationBefore },
        .init("generation_after", "bigint") { $0.generationAfter },
    ])
}

import PostgresClient
import PushRegistry

/// The SQL of `NewInstallations`.
enum ImportCopyStatements {
    static let named = [
        NamedStatement("copyUsers", serving: "import (R7): adds users.", users),
        NamedStatement("copySessions", serving: "import (R7): adds sessions.", sessions),
        NamedStatement("copyHolders", serving: "import (R1): adds tokens.", holders),
        NamedStatement("copyInstallations", serving: "import: adds installations.", installations),
        NamedStatement("copyOwners", serving: "import (R4): adds owners.", owners),
        NamedStatement("copyEvents", serving: "import (R12): adds events.", events),
    ]

    static let users = copy("user_guard", "app_id, user_sha256, added_at")

    static let sessions = copy("session", "app_id, session_id, user_sha256, seen_at")

    static let holders = copy("token_holder", "app_id, provider, token_sha256, install_id")

    static let owners = copy("installation_owner", "app_id, user_id, install_id, session_id")

    static let events = copy(
        "token_event",
        """
        position, at, app_id, install_id, event, reason, actor, provider, token_sha256, user_id, state, \
        generation_before, generation_after, topics
        """)

    static let installations = copy(
        "installation",
        """
        app_id, install_id, provider, token, token_sha256, p256dh, auth, user_id, session_id, session_expires_at, \
        registrant, snapshot_sender, state, generation, registration_generation, epoch, revision, created_at, \
        registered_at, last_seen_at, state_changed_at, snapshot_at, cell, registration_digest, snapshot_digest, \
        topic_choices, topics, \(sql: SnapshotColumns.batch.list.names)
        """)

    private static func copy(_ table: PostgresSQL, _ columns: PostgresSQL) -> PostgresStatement {
        "COPY \(sql: table) (\(sql: columns)) FROM STDIN (FORMAT binary)"
    }

    /// Binds the columns of `installations` before those of the snapshot, with the values of `ImportStatements.merge`.
    static func bind(_ row: ImportedRow, of app: AppNumber, at now: PostgresTimestamp, to binds: inout PostgresBinds) {
        let installation = row.installation
        let generation = now.microsecondsSince1970
        let seenAt = installation.lastSeenAt.map { min($0, Timestamp(now)) } ?? Timestamp(now)
        let topics = installation.topicChoices.stored
        binds.bind(app.rawValue)
        binds.bind(installation.installID.rawValue)
        binds.bind(installation.token.provider.rawValue)
        binds.bind(installation.token.text)
        binds.bind(row.tokenSHA256)
        binds.bind(installation.keys?.p256dh)
        binds.bind(installation.keys?.auth)
        binds.bind(installation.userID?.rawValue)
        binds.bind(installation.session?.id.rawValue)
        binds.bind(installation.session?.expiresAt?.postgres)
        binds.bind(row.registrant)
        binds.bind(row.registrant)
        binds.bind(InstallationState.active.rawValue)
        for _ in 0..<4 { binds.bind(generation) }
        binds.bind((installation.createdAt.map { min($0, seenAt) } ?? seenAt).postgres)
        binds.bind(seenAt.postgres)
        binds.bind(seenAt.postgres)
        binds.bind(now)
        binds.bind(now)
        binds.bind(row.cell)
        binds.bind([UInt8]())
        binds.bind(row.snapshotDigest)
        binds.bind(topics)
        binds.bind(topics)
    }
}

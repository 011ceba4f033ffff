import Crypto
import PostgresClient
import PushRegistry
import RegistryStore

/// A line of an import with the values that the registry adds. A class, because copies of an installation are costly.
final class ImportedRow: Sendable {
    let installation: ImportedInstallation
    let tokenSHA256: [UInt8]
    let userSHA256: [UInt8]?
    let snapshotDigest: [UInt8]
    /// The cell of the roll-up; 0 in a dry run, which counts nothing.
    let cell: Int64

    init(_ installation: ImportedInstallation, cell: Int64) {
        self.installation = installation
        tokenSHA256 = installation.token.addressSHA256 { SHA256.hash(data: $0).withUnsafeBytes { Array($0) } }
        userSHA256 = installation.userID.map { UserDigest.sha256($0) }
        snapshotDigest = SHA256.hash(data: installation.snapshot.canonicalBytes).withUnsafeBytes { digest in
            Array(digest.prefix(Registration.digestBytes))
        }
        self.cell = cell
    }

    var id: InstallID { installation.installID }

    var owner: Owner? { installation.userID.map { Owner(userID: $0, session: installation.session) } }

    func key(in app: AppNumber) -> InstallationKey { InstallationKey(app: app, installID: id) }

    func address(in app: AppNumber) -> TokenAddress {
        TokenAddress(app: app, provider: installation.token.provider, sha256: tokenSHA256)
    }

    /// Binds the columns of `ImportStatements.installations`.
    ///
    /// An empty registration digest matches no registration: the first registration writes the row, and may bind a
    /// session. A time in the future counts as now.
    ///
    /// - Parameter topics: the choices, over those of the user.
    func bind(of app: AppNumber, topics: TopicChoices, at moment: Moment, to binds: inout PostgresBinds) {
        let now = moment.time.postgres
        let registrant = userSHA256.map { UserDigest.registrant($0) }
        let generation = Installation.firstGeneration(moment.number)
        let seenAt = installation.lastSeenAt.map { min($0, moment.time) } ?? moment.time
        binds.bind(app.rawValue)
        binds.bind(installation.installID.rawValue)
        binds.bind(installation.token.provider.rawValue)
        binds.bind(installation.token.text)
        binds.bind(tokenSHA256)
        binds.bind(installation.keys?.p256dh)
        binds.bind(installation.keys?.auth)
        binds.bind(installation.userID?.rawValue)
        binds.bind(installation.session?.id.rawValue)
        binds.bind(installation.session?.expiresAt?.postgres)
        binds.bind(registrant)
        binds.bind(registrant)
        binds.bind(InstallationState.active.rawValue)
        for _ in 0..<4 { binds.bind(generation) }
        binds.bind((installation.createdAt.map { min($0, seenAt) } ?? seenAt).postgres)
        binds.bind(seenAt.postgres)
        binds.bind(seenAt.postgres)
        binds.bind(now)
        binds.bind(now)
        binds.bind(cell)
        binds.bind([UInt8]())
        binds.bind(snapshotDigest)
        binds.bind(installation.topicChoices.stored)
        binds.bind(topics.stored)
        SnapshotColumns.batch.bind(installation.snapshot, to: &binds)
    }
}

/// The SQL of `push-registry import`: what it reads before it copies rows into the tables.
enum ImportStatements {
    // MARK: Reading

    /// Those of the installations `$2` that the registry has.
    static let present = PreparedSQL(
        "SELECT install_id FROM installation WHERE app_id = $1 AND install_id = ANY ($2)")

    /// import (fine print 5): lets one session at a time do this.
    static let lockNumbers: PostgresStatement =
        "SELECT pg_advisory_xact_lock(hashtext('push-registry: numbers')::bigint)"

    /// Lets the transactions' numbers go on from `$1`, or from a higher one. A number that another session draws
    /// meanwhile must not come again: so they go on well behind it. `lockNumbers` comes first.
    static let raiseNumber = PreparedSQL(
        "SELECT setval('change_number', $1 + 100000) FROM change_number WHERE last_value <= $1")

    // MARK: Copying

    /// import (R1): adds tokens.
    static let holders = copy("token_holder", "app_id, provider, token_sha256, install_id")

    /// import (R4): adds owners.
    static let owners = copy("installation_owner", "app_id, user_id, install_id, session_id, number")

    /// import (R12): adds events.
    static let events = copy(
        "token_event",
        """
        position, at, app_id, install_id, event, reason, actor, provider, token_sha256, user_id, state, \
        generation_before, generation_after, topics
        """)

    /// In the order of `ImportedRow.bind`.
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

    /// Of the events.
    static let actor = "job:import"
    static let reason = "imported"
}

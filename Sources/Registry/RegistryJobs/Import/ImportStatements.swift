import PostgresClient
import PushRegistry
import RegistryStore

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

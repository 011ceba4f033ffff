import PostgresClient
import PushRegistry

/// The SQL of `PUT …/installations/{id}`, set-based: one statement serves a batch of one app. `$1` is the app, and
/// the rest are arrays unless a comment says otherwise.
package enum RegistrationStatements {
    /// The rows of the installations `$2` that exist, in any order. Column 4 says whether the row is as its last
    /// registration left it: active, not probably replaced, and with the generation of that registration.
    static let lookUp = PreparedSQL(
        """
        SELECT install_id, registration_digest, generation, last_seen_at,
            generation = registration_generation AND state = 'active' AND probably_replaced_by IS NULL,
            token_sha256, user_id, session_id, revision, cell, session_expires_at, snapshot_digest, provider,
            credential_issued_at, epoch, topic_choices, p256dh, auth, topics, CASE WHEN provider = 'fcm' THEN token END
        FROM installation WHERE app_id = $1 AND install_id = ANY ($2)
        """)

    /// Runs after the locks: every transaction that this one waited for has ended, so the position and the number are
    /// above theirs.
    package static let now = PreparedSQL(
        """
        SELECT clock_timestamp(), \(sql: EventStatements.position), nextval('change_number'),
            nextval('token_event_id_seq')
        """)

    /// POST …/feedback, POST …/notifications, calls by a user's JWT: reads the time alone.
    static let time = PreparedSQL("SELECT clock_timestamp()")

    // MARK: Locks, in the order in which every transaction takes them: buckets, tokens, installations

    /// In the order of ids: the installations `$2`, the holders of the tokens `$3`, `$4` (R4), and the installations
    /// that a new one with a keychain id of `$5` may replace (R5): the 16 active ones that were seen last, among 256
    /// installations of the keychain id. A hostile client can send any keychain id.
    package static let lock = PreparedSQL(
        """
        WITH wanted AS MATERIALIZED (
            SELECT k.install_id FROM unnest($2::text[]) AS k (install_id)
            UNION
            SELECT h.install_id
            FROM unnest($3::text[]::provider[], $4::bytea[]) AS k (provider, token_sha256)
            CROSS JOIN LATERAL (
                SELECT install_id FROM token_holder
                WHERE app_id = $1 AND provider = k.provider AND token_sha256 = k.token_sha256
                    AND install_id IS NOT NULL OFFSET 0) AS h
            UNION
            SELECT o.install_id
            FROM unnest($5::text[]) AS k (keychain_id)
            CROSS JOIN LATERAL (
                SELECT s.install_id
                FROM (
                    SELECT install_id, state, last_seen_at FROM installation
                    WHERE app_id = $1 AND keychain_id = k.keychain_id LIMIT 256) AS s
                WHERE s.state = 'active' ORDER BY s.last_seen_at DESC LIMIT 16) AS o
        ), sorted AS MATERIALIZED (SELECT install_id FROM wanted ORDER BY install_id)
        SELECT i.*
        FROM sorted AS k
        CROSS JOIN LATERAL (\(sql: InstallationStatements.locked)) AS i
        """)

    // MARK: Without a lock

    /// Writes the rows if all of them still have the revisions that the look-up read. Otherwise it divides by zero,
    /// which rolls the transaction back (`isLostRace`). `$2` is the time.
    static let change = PreparedSQL(
        """
        WITH changed AS (
            UPDATE installation i
            SET \(sql: ChangedRow.layout.written.assignments), revision = i.revision + 1,
                snapshot_sender = CASE WHEN k.is_new_snapshot THEN i.registrant ELSE i.snapshot_sender END,
                last_seen_at = greatest(i.last_seen_at, $2),
                snapshot_at = CASE WHEN k.is_new_snapshot THEN greatest(i.snapshot_at, $2) ELSE i.snapshot_at END
            FROM \(sql: ChangedRow.layout.columns.unnest(from: 3))
            WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.old_revision
            RETURNING 1)
        SELECT 1 / (count(*) = cardinality($3::text[]))::integer FROM changed
        """)

    /// As `change`. `$3` are the installations, `$4` their revisions.
    static let touch = PreparedSQL(
        """
        WITH touched AS (
            UPDATE installation i SET last_seen_at = greatest(i.last_seen_at, $2), revision = i.revision + 1
            FROM unnest($3::text[], $4::bigint[]) AS k (install_id, old_revision)
            WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.old_revision
            RETURNING 1)
        SELECT 1 / (count(*) = cardinality($3::text[]))::integer FROM touched
        """)

    // MARK: After the changes

    /// The INSERT of an installation may wait for the deletion of an earlier one with its id. The event of its creation
    /// has a position and an id from before the wait, so it may come before the event of the deletion. This statement
    /// looks at the newest other event of each id. If that comes later, it divides by zero, which rolls the transaction
    /// back (`isLostRace`).
    ///
    /// - Parameters:
    ///   - moment: whose position the written events have.
    ///   - eventIDs: those of the written events are among them.
    package static func checkOrder(
        of installIDs: [String], in app: AppNumber, at moment: Moment, writing eventIDs: ClosedRange<Int64>
    ) -> PostgresStatement {
        checkOrder(
            app.rawValue, installIDs, moment.time.postgres, eventIDs.lowerBound, eventIDs.upperBound, moment.position)
    }

    /// PUT …/installations/{installId} (R12): checks that no event of a created id comes later.
    /// `$2` are the new installations, `$3` is about the time of their creation.
    ///
    /// The two bounds of the time limit the scan to two months; ORDER BY with LIMIT forces a scan of the index.
    static let checkOrder = PreparedSQL(
        """
        SELECT 1 / CASE WHEN EXISTS (
            SELECT FROM unnest($2::text[]) AS k (install_id)
            CROSS JOIN LATERAL (
                SELECT id, position FROM token_event
                WHERE app_id = $1 AND install_id = k.install_id AND id NOT BETWEEN $4 AND $5
                    AND at BETWEEN $3::timestamptz - interval '1 day' AND $3::timestamptz + interval '1 day'
                ORDER BY id DESC LIMIT 1) AS other
            WHERE other.id > $5 OR other.position > $6
        ) THEN 0 ELSE 1 END
        """)
}

import PostgresClient
import PushRegistry

/// The SQL of `PUT …/installations/{id}`, set-based: one statement serves a batch of one app. `$1` is the app, and
/// the rest are arrays unless a comment says otherwise.
package enum RegistrationStatements {
    /// A row for each installation id of `$2`, in their order; columns are NULL if the installation does not exist.
    /// Column 4 says whether the row is as its last registration left it: active, not probably replaced, and with the
    /// generation of that registration. The last column is the directory's version at the same moment.
    static let lookUp = PreparedSQL(
        """
        SELECT statement_timestamp(), \(sql: found), (SELECT version FROM directory_version)
        FROM unnest($2::text[]) AS k (install_id)
            LEFT JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// The rows of the installations `$2` that exist, in any order: the id, then the columns 1 to 17 of `lookUp`.
    /// `DirectoryStatements.moment` reads the time and the directory's version.
    ///
    /// Citus plans a SELECT from one table in less than half of the time of a join, and executes a statement that also
    /// reads a table of the coordinator in steps, one of which would fetch all installations of the app.
    static let lookUpOnCitus = PreparedSQL(
        "SELECT i.install_id, \(sql: found) FROM installation i WHERE i.app_id = $1 AND i.install_id = ANY ($2)")

    private static let found: PostgresSQL = """
        i.registration_digest, i.generation, i.last_seen_at,
            i.generation = i.registration_generation AND i.state = 'active' AND i.probably_replaced_by IS NULL,
            i.token_sha256, i.user_id, i.session_id, i.revision, i.cell, i.session_expires_at, i.snapshot_digest,
            i.provider, i.credential_issued_at, i.epoch, i.topic_choices, i.p256dh, i.auth
        """

    /// Runs after the locks: every transaction that this one waited for has ended, so the position and the number are
    /// above theirs.
    package static let now = PreparedSQL(
        """
        SELECT clock_timestamp(), \(sql: EventStatements.position), nextval('change_number'),
            nextval('token_event_id_seq')
        """)

    // MARK: Locks, in the order in which every transaction takes them: buckets, tokens, installations

    /// In the order of ids: the installations `$2`, the holders of the tokens `$3`, `$4` (R4), and the installations
    /// that a new one with a keychain id of `$5` may replace (R5): the 16 active ones that were seen last, among 256
    /// installations of the keychain id. A hostile client can send any keychain id.
    static let lock = PreparedSQL(
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
        CROSS JOIN LATERAL (
            SELECT \(sql: InstallationColumns.list) FROM installation i
            WHERE i.app_id = $1 AND i.install_id = k.install_id FOR UPDATE) AS i
        """)

    // MARK: One trip, without a lock

    /// Without a lock: it writes only rows that still have the revision that the look-up read. It keeps the replaced
    /// snapshots and moves the counts between cells. `$2` is the time.
    ///
    /// The same row is read as `s`, whose columns `changed` returns as they were before: a row that still has this
    /// revision when it is written is the one that was read.
    static let change = PreparedSQL(
        """
        WITH changed AS (
            UPDATE installation i
            SET \(sql: ChangedRow.written.assignments), revision = i.revision + 1,
                snapshot_sender = CASE WHEN k.is_new_snapshot THEN i.registrant ELSE i.snapshot_sender END,
                last_seen_at = greatest(i.last_seen_at, $2),
                snapshot_at = CASE WHEN k.is_new_snapshot THEN greatest(i.snapshot_at, $2) ELSE i.snapshot_at END
            FROM \(sql: ChangedRow.columns.unnest(from: 3))
                JOIN installation s ON s.app_id = $1 AND s.install_id = k.install_id
            WHERE i.ctid = s.ctid AND i.revision = k.old_revision
            RETURNING i.last_seen_at, i.cell, i.session_expires_at, i.topics, k.old_cell, k.old_expires_at,
                k.is_new_snapshot, \(sql: SnapshotStatements.columns(of: "s"))
        ), replaced AS (
            \(sql: SnapshotStatements.keep("changed", at: "$2"))
            WHERE s.is_new_snapshot
        ), moved AS (
            \(sql: RollUpDeltaStatements.insert(from: """
                SELECT topics, old_cell AS cell, old_expires_at AS expires_at, -1 AS active, -1 AS installations
                FROM changed
                UNION ALL
                SELECT topics, cell, session_expires_at, 1, 1 FROM changed
                """))
        )
        SELECT install_id, last_seen_at FROM changed
        """)

    /// As `change`, without the writes of other tables.
    static let changeAlone = PreparedSQL(
        """
        UPDATE installation i
        SET \(sql: ChangedRow.written.assignments), revision = i.revision + 1,
            snapshot_sender = CASE WHEN k.is_new_snapshot THEN i.registrant ELSE i.snapshot_sender END,
            last_seen_at = greatest(i.last_seen_at, $2),
            snapshot_at = CASE WHEN k.is_new_snapshot THEN greatest(i.snapshot_at, $2) ELSE i.snapshot_at END
        FROM \(sql: ChangedRow.columns.unnest(from: 3))
        WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.old_revision
        RETURNING i.install_id, i.last_seen_at, i.topics
        """)

    /// Runs before `changeAlone`: if that finds the same revision, the snapshot was the present one. `$2` is the time.
    static let keepRevisions = PreparedSQL(
        SnapshotStatements.keep(
            """
            (\(sql: SnapshotStatements.present(
                in: "unnest($3::text[], $4::bigint[]) AS k (install_id, revision)")) AND i.revision = k.revision)
            """, at: "$2"))

    /// Without a lock, as `change`. `$2` is the time.
    static let touch = PreparedSQL(
        """
        UPDATE installation i SET last_seen_at = greatest(i.last_seen_at, $2), revision = i.revision + 1
        FROM unnest($3::text[], $4::bigint[]) AS k (install_id, old_revision)
        WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.old_revision
        RETURNING i.install_id, i.last_seen_at
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
    static func checkOrder(
        of installIDs: [String], in app: AppNumber, at moment: Moment, writing eventIDs: ClosedRange<Int64>
    ) -> PostgresStatement {
        PostgresStatement(
            checkOrder, app.rawValue, installIDs, moment.time.postgres, eventIDs.lowerBound, eventIDs.upperBound,
            moment.position)
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

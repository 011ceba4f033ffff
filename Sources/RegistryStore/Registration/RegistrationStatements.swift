import PostgresClient
import PushRegistry

/// The SQL of `PUT …/installations/{id}`, set-based: one statement serves a batch of one app. `$1` is the app, and the
/// rest are arrays unless a comment says otherwise.
enum RegistrationStatements {
    /// PUT …/installations/{id}, first trip (R2): a row for each installation id, in their order. NULLs: there is none.
    ///
    /// Column 4 tells whether the row is as its last registration left it: active, not probably replaced, and with the
    /// generation of that registration.
    static let lookUp = PreparedSQL(
        """
        SELECT statement_timestamp(), i.registration_digest, i.generation, i.last_seen_at,
            i.generation = i.registration_generation AND i.state = 'active' AND i.probably_replaced_by IS NULL,
            i.token_sha256, i.user_id, i.session_id, i.revision, i.cell, i.session_expires_at, i.snapshot_digest,
            i.provider, i.credential_issued_at
        FROM unnest($2::text[]) AS k (install_id)
        LEFT JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// The transaction's time, and its position in the change feed. It runs after the locks: every transaction that it
    /// waited for has ended, so its position is above theirs.
    static let now = PreparedSQL("SELECT clock_timestamp(), \(sql: EventStatements.position)")

    // MARK: Locks, in the order in which every transaction takes them: users, sessions, tokens, installations

    /// PUT …/installations/{id} (R1, R4): gives every token a row, so that all who race for it meet there. `$2` and
    /// `$3` are the providers and digests.
    static let addHolders = PreparedSQL(
        """
        INSERT INTO token_holder (app_id, provider, token_sha256)
        SELECT $1, k.provider, k.token_sha256
        FROM unnest($2::text[]::provider[], $3::bytea[]) AS k (provider, token_sha256)
        ORDER BY k.provider, k.token_sha256
        ON CONFLICT DO NOTHING
        """)

    /// Locks the rows of these tokens (`$2`, `$3`), and of the tokens that these installations (`$4`) hold at present.
    /// Who waits here gets the row's newest version. Answers how many of the former there are.
    static let lockHolders = PreparedSQL(
        """
        WITH wanted AS MATERIALIZED (
            SELECT k.provider, k.token_sha256
            FROM unnest($2::text[]::provider[], $3::bytea[]) AS k (provider, token_sha256)
            UNION
            SELECT i.provider, i.token_sha256
            FROM unnest($4::text[]) AS k (install_id)
            CROSS JOIN LATERAL (
                SELECT provider, token_sha256 FROM installation
                WHERE app_id = $1 AND install_id = k.install_id AND token_sha256 IS NOT NULL OFFSET 0) AS i
        ), sorted AS MATERIALIZED (SELECT * FROM wanted ORDER BY provider, token_sha256)
        SELECT h.provider::text, h.token_sha256
        FROM sorted AS k
        CROSS JOIN LATERAL (
            SELECT provider, token_sha256 FROM token_holder
            WHERE app_id = $1 AND provider = k.provider AND token_sha256 = k.token_sha256 FOR UPDATE) AS h
        """)

    /// Locks, in the order of their ids, the installations themselves (`$2`), the holders of these tokens (`$3`, `$4`;
    /// R4), and those that a new installation with one of these keychain ids (`$5`) may replace (R5; at most 16 of a
    /// keychain id, which a hostile client can share at will).
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
                SELECT i.install_id FROM installation i
                WHERE i.app_id = $1 AND i.keychain_id = k.keychain_id LIMIT 16) AS o
        ), sorted AS MATERIALIZED (SELECT install_id FROM wanted ORDER BY install_id)
        SELECT i.*
        FROM sorted AS k
        CROSS JOIN LATERAL (
            SELECT \(sql: InstallationColumns.list) FROM installation i
            WHERE i.app_id = $1 AND i.install_id = k.install_id FOR UPDATE) AS i
        """)

    // MARK: One trip, without a lock

    /// PUT …/installations/{id} (R2): another snapshot, key or session expiry under the same binding, where the row is
    /// as the look-up found it. Keeps the snapshots that are replaced, and moves counts between cells.
    ///
    /// `$2` is the time.
    static let change = PreparedSQL(
        """
        WITH changed AS (
            UPDATE installation i
            SET \(sql: ChangedRow.written.assignments), revision = i.revision + 1,
                credential_issued_at = coalesce(i.credential_issued_at, k.issued_at),
                snapshot_sender = CASE WHEN k.is_new_snapshot THEN i.registrant ELSE i.snapshot_sender END,
                last_seen_at = greatest(i.last_seen_at, $2),
                snapshot_at = CASE WHEN k.is_new_snapshot THEN greatest(i.snapshot_at, $2) ELSE i.snapshot_at END
            FROM \(sql: ChangedRow.columns.unnest(from: 3))
            WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.old_revision
            RETURNING i.install_id, i.last_seen_at, i.cell, i.session_expires_at, k.is_new_snapshot, k.old_cell,
                k.old_expires_at
        ), replaced AS (
            \(sql: SnapshotStatements.keep(from: "changed AS c", at: "$2")) AND c.is_new_snapshot
        ), moved AS (
            INSERT INTO rollup_delta (app_id, transaction_id, cell, expires_at, active, installations)
            SELECT $1, \(sql: RollUpDelta.transactionID), cell, expires_at, sum(step), sum(step)
            FROM (
                SELECT old_cell AS cell, old_expires_at AS expires_at, -1 AS step FROM changed
                UNION ALL
                SELECT cell, session_expires_at, 1 FROM changed) AS c
            GROUP BY cell, expires_at HAVING sum(step) <> 0
        )
        SELECT install_id, last_seen_at FROM changed
        """)

    /// PUT …/installations/{id} (R2): an unchanged registration whose `lastSeenAt` is due. `$2` is the time.
    static let touch = PreparedSQL(
        """
        UPDATE installation i SET last_seen_at = greatest(i.last_seen_at, $2), revision = i.revision + 1
        FROM unnest($3::text[], $4::bigint[]) AS k (install_id, old_revision)
        WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.old_revision
        RETURNING i.install_id, i.last_seen_at
        """)

    /// PUT …/installations/{id} (R1, R7, R12): new installations whose token and keychain nobody has, and whose user
    /// and session were not logged out. The statement runs under the locks of users and sessions; what does not come
    /// back is decided under locks of its own. Where somebody takes a token at the same moment, the statement fails.
    ///
    /// `$2` is the time of the look-up, `$3` the same in microseconds, `$4` the actor of all of them. A life begins at
    /// the microsecond of the statement: since the look-up, another one may have begun and ended.
    static let create = PreparedSQL(
        """
        WITH moment AS MATERIALIZED (
            SELECT now, greatest($3, (extract(epoch FROM now) * 1000000)::bigint) AS generation
            FROM (SELECT greatest($2, clock_timestamp()) AS now OFFSET 0) AS clock
        ), created AS (
            INSERT INTO installation AS i (app_id, state, generation, registration_generation, revision, created_at,
                registered_at, last_seen_at, state_changed_at, snapshot_at, \(sql: CreatedRow.written.names))
            SELECT $1, 'active', m.generation, m.generation, m.generation, m.now, m.now, m.now, m.now, m.now,
                \(sql: CreatedRow.written.values)
            FROM moment m CROSS JOIN \(sql: CreatedRow.columns.unnest(from: 5))
            WHERE \(sql: mayBind)
                AND NOT EXISTS (
                    SELECT FROM token_holder h
                    WHERE h.app_id = $1 AND h.provider = k.provider AND h.token_sha256 = k.token_sha256)
                AND (k.keychain_id IS NULL OR NOT EXISTS (
                    SELECT FROM installation o WHERE o.app_id = $1 AND o.keychain_id = k.keychain_id))
            RETURNING i.install_id, i.provider, i.token_sha256, i.user_id, i.session_id, i.session_expires_at, i.cell,
                i.generation, i.created_at
        ), held AS (
            INSERT INTO token_holder (app_id, provider, token_sha256, install_id)
            SELECT $1, provider, token_sha256, install_id FROM created
        ), owned AS (
            INSERT INTO installation_owner (app_id, user_id, install_id, session_id)
            SELECT $1, user_id, install_id, session_id FROM created WHERE user_id IS NOT NULL
            ON CONFLICT (app_id, user_id, install_id)
            DO UPDATE SET session_id = excluded.session_id, left_at = NULL
        ), recorded AS (
            INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, token_sha256,
                user_id, state, generation_before, generation_after)
            SELECT (SELECT \(sql: EventStatements.position)), created_at, $1, install_id, 'registered',
                'firstRegistration', $4, provider, token_sha256, user_id, 'active', 0, generation
            FROM created
        ), counted AS (
            INSERT INTO rollup_delta (app_id, transaction_id, cell, expires_at, active, installations)
            SELECT $1, \(sql: RollUpDelta.transactionID), cell, session_expires_at, count(*), count(*)
            FROM created GROUP BY cell, session_expires_at
        )
        SELECT install_id, generation, created_at FROM created
        """)

    /// R7: nothing is remembered that could refuse the binding. A registration without an owner passes.
    private static let mayBind: PostgresSQL = """
        (k.user_sha256 IS NULL OR (
                EXISTS (
                    SELECT FROM user_guard g
                    WHERE g.app_id = $1 AND g.user_sha256 = k.user_sha256 AND g.refused_before IS NULL)
                AND NOT EXISTS (
                    SELECT FROM installation_logout l WHERE l.app_id = $1 AND l.install_id = k.install_id)))
            AND (k.session_id IS NULL OR EXISTS (
                SELECT FROM session s
                WHERE s.app_id = $1 AND s.session_id = k.session_id AND s.ended_at IS NULL))
        """

    // MARK: Under locks, after the rules

    /// R4: former holders keep nothing of their token.
    static let release = PreparedSQL(
        """
        UPDATE installation i
        SET token = NULL, token_sha256 = NULL, p256dh = NULL, auth = NULL, state = 'superseded',
            generation = k.generation, state_changed_at = k.state_changed_at, revision = i.revision + 1
        FROM unnest($2::text[], $3::bigint[], $4::timestamptz[]) AS k (install_id, generation, state_changed_at)
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// R5.
    static let markReplaced = PreparedSQL(
        """
        UPDATE installation i SET probably_replaced_by = k.probably_replaced_by, revision = i.revision + 1
        FROM unnest($2::text[], $3::text[]) AS k (install_id, probably_replaced_by)
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// R2.
    static let touchLocked = PreparedSQL(
        """
        UPDATE installation i SET last_seen_at = k.last_seen_at, revision = i.revision + 1
        FROM unnest($2::text[], $3::timestamptz[]) AS k (install_id, last_seen_at)
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// R3, R4, R10: another binding with the same snapshot.
    static let rebind = PreparedSQL(
        """
        UPDATE installation i SET \(sql: BindingRow.written.assignments), revision = i.revision + 1
        FROM \(sql: BindingRow.columns.unnest(from: 2))
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// R2: another snapshot. `$2` is the time.
    static let resnap = PreparedSQL(
        """
        UPDATE installation i
        SET \(sql: SnapshotRow.written.assignments), snapshot_at = greatest(i.snapshot_at, $2),
            revision = i.revision + 1
        FROM \(sql: SnapshotRow.columns.unnest(from: 3))
        WHERE i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// New installations, under the locks of their tokens. `$2` is the time.
    static let insert = PreparedSQL(
        """
        INSERT INTO installation (app_id, created_at, revision, snapshot_at, \(sql: InsertedRow.written.names))
        SELECT $1, k.registered_at, k.generation, $2, \(sql: InsertedRow.written.values)
        FROM \(sql: InsertedRow.columns.unnest(from: 3))
        ORDER BY k.install_id
        """)

    /// R2: keeps the snapshots of these installations (`$3`), which are about to be replaced. `$2` is the time.
    static let keepSnapshots = PreparedSQL(
        SnapshotStatements.keep(from: "unnest($3::text[]) AS c (install_id)", at: "$2"))
}

import PostgresClient
import PushRegistry

/// The SQL of receipts. `$1` is the app.
enum ReceiptStatements {
    // MARK: Counting

    /// POST /v1/receipts, …/accepted and …/feedback (fine print 71): adds events of receipts.
    /// Returns the message, the installation, the added events and the cell of each row that gets a new event. The cell
    /// of a row is that of its first receipt.
    static let count = PreparedSQL(
        """
        INSERT INTO receipt AS r (app_id, message, installation, events, added, cell)
        SELECT \(sql: AppRow.app), message, installation, events, events, cell
        FROM \(sql: AppRow.beside("""
            unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::bigint[])
                AS k (message, installation, events, cell)
            """))
        ON CONFLICT (app_id, installation, message) DO UPDATE
        SET events = r.events | excluded.events, added = excluded.events & ~r.events
        WHERE excluded.events & ~r.events <> 0
        RETURNING r.message, r.installation, r.added, r.cell
        """)

    /// Returns the installations that were not targets before. Without a time, it counts them and does not store them.
    ///
    /// - Parameter targets: each installation once, in the order of their hashes.
    static func target(
        _ targets: [MessageTarget], for message: MessageNumber, of app: AppNumber, rememberedAt time: Timestamp?
    ) -> PostgresStatement {
        targetSQL(
            app.rawValue, message.rawValue, targets.map(\.installation.rawValue), targets.map(\.cell),
            targets.map { time == nil ? nil : $0.installID }, targets.map { time == nil ? nil : $0.userID },
            time?.postgres)
    }

    /// Keeps the first time, unless the installation has another user now.
    static let targetSQL = PreparedSQL(
        """
        INSERT INTO receipt AS r (
            app_id, message, installation, events, added, cell, install_id, user_id, handed_out_at)
        SELECT \(sql: AppRow.app), $2, installation, 1, 1, cell, install_id, user_id, $7
        FROM \(sql: AppRow.beside("""
            unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[]) AS k (installation, cell, install_id, user_id)
            """))
        ON CONFLICT (app_id, installation, message) DO UPDATE
        SET events = r.events | excluded.events, added = excluded.events & ~r.events,
            cell = coalesce(r.cell, excluded.cell), install_id = coalesce(excluded.install_id, r.install_id),
            user_id = CASE WHEN excluded.install_id IS NULL THEN r.user_id ELSE excluded.user_id END,
            handed_out_at = CASE
                WHEN r.handed_out_at IS NOT NULL
                    AND (excluded.install_id IS NULL OR r.user_id IS NOT DISTINCT FROM excluded.user_id)
                THEN r.handed_out_at ELSE excluded.handed_out_at END
        RETURNING r.installation, r.added
        """)

    /// POST …/accepted and …/feedback (fine print 74): adds the event `$4` of remembered targets.
    /// Returns the installation, the added event and the cell of each.
    static let countRemembered = PreparedSQL(
        """
        UPDATE receipt r SET events = r.events | $4::smallint, added = $4::smallint & ~r.events
        FROM unnest($3::bigint[]) AS k (installation)
        WHERE r.app_id = $1 AND r.message = $2 AND r.installation = k.installation AND r.handed_out_at IS NOT NULL
        RETURNING r.installation, r.added, r.cell
        """)

    /// POST …/feedback (fine print 74): reads the cells of the holders of tokens.
    /// `$2` and `$3` are the providers and digests.
    static let holders = PreparedSQL(
        """
        SELECT i.provider::text, i.install_id, i.cell, h.token_sha256
        FROM unnest($2::text[]::provider[], $3::bytea[]) AS k (provider, token_sha256)
        JOIN token_holder h ON h.app_id = $1 AND h.provider = k.provider AND h.token_sha256 = k.token_sha256
        JOIN installation i ON i.app_id = $1 AND i.install_id = h.install_id
        """)

    /// POST …/feedback (fine print 74): reads the cells of the installations that have typed tokens.
    /// `$2` and `$3` are the kinds and digests.
    static let typedHolders = PreparedSQL(
        """
        SELECT t.provider::text, t.install_id, i.cell, t.kind::text, t.token_sha256
        FROM unnest($2::text[]::token_kind[], $3::bytea[]) AS k (kind, token_sha256)
        JOIN typed_token t ON t.app_id = $1 AND t.kind = k.kind AND t.token_sha256 = k.token_sha256
        JOIN installation i ON i.app_id = $1 AND i.install_id = t.install_id
        """)

    /// POST …/feedback (fine print 74): reads the cells of installations.
    static let installations = PreparedSQL(
        """
        SELECT i.provider::text, i.install_id, i.cell FROM unnest($2::text[]) AS k (install_id)
        JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id
        """)

    // MARK: Reading

    /// GET …/messages/{message}/undelivered (fine print 76): reads up to `$5` targets without a delivery to
    /// which the message was handed out until `$3`, after the installation `$4`.
    static let undelivered = PreparedSQL(
        """
        SELECT r.installation, r.install_id, r.user_id, i.state::text
        FROM receipt r LEFT JOIN installation i ON i.app_id = $1 AND i.install_id = r.install_id
        WHERE r.app_id = $1 AND r.message = $2 AND r.handed_out_at IS NOT NULL AND r.handed_out_at <= $3
            AND r.events & 8 = 0 AND r.installation > $4
        ORDER BY r.installation LIMIT $5
        """)

    // MARK: Erasure

    /// Removes the personal data and keeps the rows, so that the same receipt does not count again. `$2` is the user.
    /// Returns the numbers of receipts and of targets.
    static let eraseUser = PreparedSQL(
        erase("r.user_id = $2"))

    /// DELETE …/users/{userId} (fine print 72): removes personal data from receipts of the user.
    /// `$2` are the hashes of installations.
    static let eraseInstallations = PreparedSQL(
        erase("r.installation = ANY ($2::bigint[])"))

    private static func erase(_ condition: PostgresSQL) -> PostgresSQL {
        """
        WITH found AS MATERIALIZED (
            SELECT message, installation, events, handed_out_at FROM receipt r
            WHERE r.app_id = $1 AND r.cell IS NOT NULL AND \(sql: condition)
            ORDER BY installation, message FOR UPDATE
        ), erased AS (
            UPDATE receipt r SET cell = NULL, install_id = NULL, user_id = NULL, handed_out_at = NULL
            FROM found f
            WHERE r.app_id = $1 AND r.installation = f.installation AND r.message = f.message
        )
        SELECT count(*) FILTER (WHERE events & 62 <> 0), count(handed_out_at) FROM found
        """
    }
}

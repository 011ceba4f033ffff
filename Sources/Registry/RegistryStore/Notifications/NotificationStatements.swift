import PostgresClient
import PushRegistry

/// The SQL of numbered notifications. One statement serves a batch of one app. `$1` is the app; the other parameters
/// are arrays unless a comment says otherwise.
enum NotificationStatements {
    // MARK: Addressees

    /// The columns of an `AddressedInstallation`.
    private static let addressed: PostgresSQL = """
        i.install_id, i.provider::text, i.token, i.p256dh, i.auth, i.generation, i.epoch, i.state::text, \
        i.session_expires_at, i.settings, \(sql: InstallationStatements.reachabilityTime), i.user_id, i.cell, i.topics
        """

    /// POST …/notifications: reads the installations that a batch addresses.
    static let ofInstallations = PreparedSQL(
        """
        SELECT i.install_id, \(sql: addressed)
        FROM unnest($2::text[]) AS k (install_id)
        JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id
        """)

    /// Returns up to `$3` installations of each user, in the order of their ids.
    static let ofUsers = PreparedSQL(
        """
        SELECT k.user_id, \(sql: addressed)
        FROM unnest($2::text[]) AS k (user_id)
        CROSS JOIN LATERAL (
            SELECT o.install_id FROM installation_owner o
            WHERE o.app_id = $1 AND o.user_id = k.user_id AND o.left_at IS NULL ORDER BY o.install_id LIMIT $3) AS o
        JOIN installation i ON i.app_id = $1 AND i.install_id = o.install_id AND i.user_id = k.user_id
        ORDER BY i.install_id
        """)

    // MARK: Locks, after those of installations, in the order of ids

    /// For the first notification of an epoch: locks the installations `$2` that have no counter yet, so that their
    /// epochs `$3` do not end before the counter exists. The revisions tell `CreationStatements.takeOver`, which reads
    /// the counters before it locks installations.
    static let holdEpochs = PreparedSQL(
        """
        UPDATE installation i SET revision = i.revision + 1
        FROM unnest($2::text[], $3::bigint[]) AS k (install_id, epoch)
        WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.epoch = k.epoch AND NOT EXISTS (
            SELECT FROM notification_counter c WHERE c.app_id = $1 AND c.install_id = k.install_id)
        """)

    /// POST …/notifications (fine print 61): adds a counter to each new epoch.
    static let addCounters = PreparedSQL(
        """
        INSERT INTO notification_counter (app_id, install_id, epoch, last, acknowledged, dropped)
        SELECT \(sql: AppRow.app), k.install_id, k.epoch, 0, 0, 0
        FROM \(sql: AppRow.beside("unnest($2::text[], $3::bigint[]) AS k (install_id, epoch)"))
        WHERE EXISTS (
                SELECT FROM installation i WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.epoch = k.epoch)
            AND NOT EXISTS (
                SELECT FROM notification_counter c WHERE c.app_id = $1 AND c.install_id = k.install_id)
        ORDER BY k.install_id
        ON CONFLICT DO NOTHING
        """)

    /// Returns the counters of the epochs that have not ended. They cannot end before this transaction does.
    static let lockCounters = PreparedSQL(
        """
        SELECT c.install_id, c.last, c.dropped
        FROM unnest($2::text[], $3::bigint[]) AS k (install_id, epoch)
        CROSS JOIN LATERAL (
            SELECT install_id, last, dropped FROM notification_counter c
            WHERE c.app_id = $1 AND c.install_id = k.install_id AND c.epoch = k.epoch FOR UPDATE) AS c
        """)

    // MARK: Boxes, under the locks of their counters

    /// POST …/notifications (fine print 61, 63): reads what waits, without payloads.
    static let waiting = PreparedSQL(
        """
        SELECT n.install_id, n.number, n.expires_at, n.collapse_id
        FROM unnest($2::text[]) AS k (install_id)
        JOIN notification n ON n.app_id = $1 AND n.install_id = k.install_id
        ORDER BY n.install_id, n.number
        """)

    /// POST …/notifications (fine print 80): reads the numbers of earlier posts with the same dedup id.
    /// `$2` and `$3` are installations and dedup ids.
    static let remembered = PreparedSQL(
        """
        SELECT d.install_id, d.dedup_id, d.number, d.previous, d.receipt, d.expires_at
        FROM unnest($2::text[], $3::text[]) AS k (install_id, dedup_id)
        JOIN notification_dedup d ON d.app_id = $1 AND d.install_id = k.install_id AND d.dedup_id = k.dedup_id
        """)

    /// POST …/notifications (fine print 61): writes the last number.
    static let advance = PreparedSQL(
        """
        UPDATE notification_counter c SET last = k.last, dropped = k.dropped
        FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS k (install_id, last, dropped)
        WHERE c.app_id = $1 AND c.install_id = k.install_id
        """)

    /// POST …/notifications (fine print 63): deletes what is replaced, dropped or expired.
    static let remove = PreparedSQL(
        """
        DELETE FROM notification n USING unnest($2::text[], $3::bigint[]) AS k (install_id, number)
        WHERE n.app_id = $1 AND n.install_id = k.install_id AND n.number = k.number
        """)

    /// POST …/notifications (fine print 60): stores notifications.
    static let add = PreparedSQL(
        """
        INSERT INTO notification (app_id, install_id, number, payload, collapse_id, posted_at, expires_at)
        SELECT \(sql: AppRow.app), k.*
        FROM \(sql: AppRow.beside("""
            unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[]) AS k
            """))
        """)

    /// Replaces an expired row.
    static let remember = PreparedSQL(
        """
        INSERT INTO notification_dedup (app_id, install_id, dedup_id, number, previous, receipt, expires_at)
        SELECT \(sql: AppRow.app), k.*
        FROM \(sql: AppRow.beside("""
            unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::timestamptz[]) AS k
            """))
        ON CONFLICT (app_id, install_id, dedup_id) DO UPDATE
            SET number = excluded.number, previous = excluded.previous, receipt = excluded.receipt,
                expires_at = excluded.expires_at
        """)

    // MARK: Fetches

    /// The lowest and the highest number that wait; expired ones do not.
    private static let bounds: PostgresSQL = """
        CASE WHEN c.last > c.acknowledged THEN (
                SELECT min(n.number) FROM notification n
                WHERE n.app_id = $1 AND n.install_id = c.install_id AND n.expires_at > statement_timestamp()) END,
            CASE WHEN c.last > c.acknowledged THEN (
                SELECT max(n.number) FROM notification n
                WHERE n.app_id = $1 AND n.install_id = c.install_id AND n.expires_at > statement_timestamp()) END
        """

    /// Returns a row for each installation id of `$2`, in their order. Columns are NULL if the installation does not
    /// exist or has no counter.
    static let states = PreparedSQL(
        """
        SELECT i.epoch, i.user_id, i.session_id, i.session_expires_at, c.last, c.acknowledged, c.dropped,
            \(sql: bounds)
        FROM unnest($2::text[]) AS k (install_id)
            LEFT JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id
            LEFT JOIN notification_counter c ON c.app_id = $1 AND c.install_id = k.install_id AND c.epoch = i.epoch
        """)

    /// Returns up to `$5` notifications of the installation `$2` in the epoch `$3` above the number `$4`; none of these
    /// is an array. Returns one row without a number if there are none, and no row if the epoch has ended.
    static let page = PreparedSQL(
        """
        SELECT c.last, c.acknowledged, c.dropped, \(sql: bounds), n.number, n.payload, n.posted_at, n.expires_at,
            n.collapse_id
        FROM notification_counter c
        LEFT JOIN LATERAL (
            SELECT * FROM notification n
            WHERE n.app_id = $1 AND n.install_id = $2 AND n.number > $4 AND n.expires_at > statement_timestamp()
            ORDER BY n.number LIMIT $5) AS n ON true
        WHERE c.app_id = $1 AND c.install_id = $2 AND c.epoch = $3
        ORDER BY n.number
        """)

    /// GET …/installations/{installId}/notifications (fine print 62): writes acknowledged numbers.
    /// `$2` are installations in the order of their ids, `$3` their epochs, `$4` the acknowledged numbers.
    static let acknowledge = PreparedSQL(
        """
        UPDATE notification_counter c SET acknowledged = k.number
        FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS k (install_id, epoch, number)
        WHERE c.app_id = $1 AND c.install_id = k.install_id AND c.epoch = k.epoch
            AND k.number > c.acknowledged AND k.number <= c.last
        """)

    /// Runs after `acknowledge`, which has locked the counters, with the same parameters.
    static let forget = PreparedSQL(
        """
        DELETE FROM notification n
        USING unnest($2::text[], $3::bigint[], $4::bigint[]) AS k (install_id, epoch, number)
        WHERE n.app_id = $1 AND n.install_id = k.install_id AND n.number <= k.number AND EXISTS (
            SELECT FROM notification_counter c
            WHERE c.app_id = $1 AND c.install_id = k.install_id AND c.epoch = k.epoch AND c.acknowledged >= k.number)
        """)

    // MARK: The end of an epoch

    /// Locks and deletes in the order of the ids.
    static let deleteCounters = PreparedSQL(
        """
        DELETE FROM notification_counter c USING unnest($2::text[]) AS k (install_id)
        WHERE c.app_id = $1 AND c.install_id = k.install_id AND NOT EXISTS (
            SELECT FROM installation i WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.epoch = c.epoch)
        """)

    /// Every call that ends an epoch of notifications (fine print 65): deletes what waits.
    static let deleteWaiting = PreparedSQL(
        """
        DELETE FROM notification n USING unnest($2::text[]) AS k (install_id)
        WHERE n.app_id = $1 AND n.install_id = k.install_id AND \(sql: hasNoCounter)
        """)

    /// Every call that ends an epoch of notifications (fine print 80): deletes remembered posts.
    static let deleteRemembered = PreparedSQL(
        """
        DELETE FROM notification_dedup d USING unnest($2::text[]) AS k (install_id)
        WHERE d.app_id = $1 AND d.install_id = k.install_id AND \(sql: hasNoCounter)
        """)

    private static let hasNoCounter: PostgresSQL =
        "NOT EXISTS (SELECT FROM notification_counter c WHERE c.app_id = $1 AND c.install_id = k.install_id)"
}

/// Deletes the notifications, counters and dedup ids of epochs that a transaction has ended (fine print 65). It runs
/// after the transaction has written or deleted the installations, and deletes their rows of other epochs.
///
/// The first statement waits for posts that have locked a counter; the next ones see the rows that these posts added.
/// For an installation without notifications, each statement is one look-up in an index.
enum EndedEpochs {
    /// The index of the result that counts the deleted notifications.
    static let waitingIndex = 1

    /// - Parameter installIDs: installations that no other transaction can write before this one ends.
    static func statements(of installIDs: [InstallID], in app: AppNumber) -> [PostgresStatement] {
        guard !installIDs.isEmpty else { return [] }
        let ids = installIDs.map(\.rawValue).sorted()
        return [
            NotificationStatements.deleteCounters, NotificationStatements.deleteWaiting,
            NotificationStatements.deleteRemembered,
        ].map { $0(app.rawValue, ids) }
    }
}

import PostgresClient
import PushRegistry

/// Deletes the notifications, counters and dedup ids of epochs that a transaction has ended (fine print 65). It runs
/// after the transaction has written or deleted the installations, and deletes their rows of other epochs.
///
/// The first statement waits for posts that have locked a counter; the next ones see the rows that these posts added.
/// For an installation without notifications, each statement is one look-up in an index.
enum EndedEpochs {
    static let named = [
        NamedStatement("deleteCounters", deleteCounters), NamedStatement("deleteWaiting", deleteWaiting),
        NamedStatement("deleteRemembered", deleteRemembered),
    ]

    /// The index of the result that counts the deleted notifications.
    static let waitingIndex = 1

    /// - Parameter installIDs: installations that no other transaction can write before this one ends.
    static func statements(of installIDs: [InstallID], in app: AppNumber) -> [PostgresStatement] {
        guard !installIDs.isEmpty else { return [] }
        let ids = installIDs.map(\.rawValue).sorted()
        return [deleteCounters, deleteWaiting, deleteRemembered].map { PostgresStatement($0, app.rawValue, ids) }
    }

    /// Locks and deletes in the order of the ids.
    private static let deleteCounters = PreparedSQL(
        serving: "Every call that ends an epoch of notifications (fine print 65): deletes counters.",
        """
        DELETE FROM notification_counter c USING unnest($2::text[]) AS k (install_id)
        WHERE c.app_id = $1 AND c.install_id = k.install_id AND NOT EXISTS (
            SELECT FROM installation i WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.epoch = c.epoch)
        """)

    private static let deleteWaiting = PreparedSQL(
        serving: "Every call that ends an epoch of notifications (fine print 65): deletes what waits.",
        """
        DELETE FROM notification n USING unnest($2::text[]) AS k (install_id)
        WHERE n.app_id = $1 AND n.install_id = k.install_id AND \(sql: hasNoCounter)
        """)

    private static let deleteRemembered = PreparedSQL(
        serving: "Every call that ends an epoch of notifications (fine print 80): deletes remembered posts.",
        """
        DELETE FROM notification_dedup d USING unnest($2::text[]) AS k (install_id)
        WHERE d.app_id = $1 AND d.install_id = k.install_id AND \(sql: hasNoCounter)
        """)

    private static let hasNoCounter: PostgresSQL =
        "NOT EXISTS (SELECT FROM notification_counter c WHERE c.app_id = $1 AND c.install_id = k.install_id)"
}

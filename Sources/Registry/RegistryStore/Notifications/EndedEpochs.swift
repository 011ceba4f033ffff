import PostgresClient
import PushRegistry

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
        ].map { PostgresStatement($0, app.rawValue, ids) }
    }
}

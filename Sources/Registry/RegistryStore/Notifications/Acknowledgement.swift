import PostgresClient
import PushRegistry

/// A queued acknowledgement.
struct PendingAcknowledgement: BatchedWrite {
    typealias Outcome = Void

    let installation: InstallationKey
    let epoch: Int64
    let number: Int64

    var app: AppNumber { installation.app }
    var key: InstallID { installation.installID }
}

/// Writes a batch of acknowledgements, all of one app, as one transaction of one round trip (R15).
struct AcknowledgementWriter: Sendable {
    private static let attemptsMax = 20

    let postgres: PostgresClient

    /// - Throws: `PostgresError`: nothing was written.
    func write(
        _ batch: [PendingAcknowledgement], _ patience: LockPatience
    ) async throws -> [Result<Void, any Error>] {
        let sorted = batch.sorted { $0.key.rawValue < $1.key.rawValue }
        let (ids, epochs, numbers) = (sorted.map(\.key.rawValue), sorted.map(\.epoch), sorted.map(\.number))
        try await postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
            _ = try await transaction.commit(
                after: LockTimeoutStatements.of(patience) + [
                    NotificationStatements.acknowledge(batch[0].app.rawValue, ids, epochs, numbers),
                    NotificationStatements.forget(batch[0].app.rawValue, ids, epochs, numbers),
                ])
        }
        return batch.map { _ in .success(()) }
    }
}

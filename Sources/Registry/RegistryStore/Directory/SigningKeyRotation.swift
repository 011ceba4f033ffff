import EventLoop
public import PostgresClient
import PushRegistry

/// Creates a new signing key for every app from time to time, and deletes keys whose last signed value has expired.
/// Every service runs it, at its start and once an hour.
public struct SigningKeyRotation: Sendable {
    private static let interval = Duration.seconds(60 * 60)
    /// How long the newest key of an app signs.
    static let signing = ISO8601Duration.days(30)
    /// How long a replaced key verifies: the longest `receiptRetention` of a policy.
    static let verifying = AppPolicy.receiptRetentionMax

    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Rotates until it is cancelled. A failure is retried in the next round.
    public func run() async {
        while !Task.isCancelled {
            try? await rotate()
            try? await postgres.loop.sleep(for: Self.interval)
        }
    }

    /// Creates and deletes the keys that are due. Services that do so at the same time create one key together.
    ///
    /// - Parameter time: nil for the present.
    /// - Throws: `PostgresError`.
    func rotate(at time: Timestamp? = nil) async throws {
        _ = try await postgres.execute([SigningKeyStatements.create(at: time), SigningKeyStatements.delete(at: time)])
    }
}

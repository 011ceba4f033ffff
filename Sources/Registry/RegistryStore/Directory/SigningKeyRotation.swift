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
        _ = try await postgres.execute([
            SigningKeyStatements.create(time?.postgres, Self.signing.description),
            SigningKeyStatements.delete(time?.postgres, Self.verifying.description),
        ])
    }
}

/// The SQL of the apps' signing keys.
enum SigningKeyStatements {
    /// Every request after a change of apps or keys: reads the signing keys of these apps, the newest last.
    static let signingKeys = PreparedSQL(
        "SELECT app_id, number, key, created_at FROM app_signing_key WHERE app_id = ANY ($1) ORDER BY app_id, number")

    static func byApp(_ rows: PostgresResult) throws -> [AppNumber: [AppSigningKey]] {
        try rows.reduce(into: [:]) { keys, row in
            keys[AppNumber(try row.decode(0)), default: []].append(
                AppSigningKey(
                    number: try row.decode(1), key: try row.decode(2), createdAt: try row.decode(3)))
        }
    }

    /// `$1` is the time, or NULL for the present.
    private static let now: PostgresSQL = "coalesce($1::timestamptz, clock_timestamp())"

    /// Service, at start and every hour: gives a new signing key to apps whose newest one has signed for long enough.
    static let create = PreparedSQL(
        """
        INSERT INTO app_signing_key (app_id, number, created_at)
        SELECT app_id, number + 1, \(sql: now) FROM (
            SELECT app_id, max(number) AS number FROM app_signing_key
            GROUP BY app_id HAVING max(created_at) <= \(sql: now) - $2::text::interval) AS expired
        ON CONFLICT (app_id, number) DO NOTHING
        """)

    /// Service, at start and every hour: deletes signing keys whose last signed value has expired: the next key has
    /// signed for so long that nothing signed by this one is valid.
    static let delete = PreparedSQL(
        """
        DELETE FROM app_signing_key AS old
        WHERE EXISTS (SELECT FROM app_signing_key AS next
            WHERE next.app_id = old.app_id AND next.number > old.number
                AND next.created_at <= \(sql: now) - $2::text::interval)
        """)
}

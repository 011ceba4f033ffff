import Crypto
import PostgresClient
import PushRegistry

/// Where the beginning of a binding meets the end of its user or session (R7). A transaction that begins bindings locks
/// the buckets of their users and sessions in share mode; one that logs out a user, ends a session or changes a user's
/// choices locks one exclusively. So each sees what the other has written, though a user or a session that was merely
/// seen has no row.
///
/// The locks are PostgreSQL's advisory locks of two numbers, the app's and the bucket's, and end with the transaction.
/// On Citus they are the coordinator's. They come before those of rows; all transactions lock them in ascending order.
///
/// A bucket has about a thousandth of an app's users and sessions, which wait for each other's logouts.
package struct LockBuckets {
    /// Few enough for the lock table of a PostgreSQL with its default settings: it has room for 6,400 locks.
    private static let count: Int32 = 1_024
    /// A batch with many tokens locks all of them.
    private static let tokenCount: Int32 = 256

    private let app: AppNumber
    private let buckets: [Int32]

    /// - Parameter users: their digests.
    package init(
        users: some Sequence<[UInt8]> = [[UInt8]](), sessions: some Sequence<String> = [String](), in app: AppNumber
    ) {
        self.app = app
        let digests = Array(users) + sessions.map { Array(SHA256.hash(data: Array($0.utf8))) }
        buckets = Set(digests.map(Self.bucket)).sorted()
    }

    /// R1: typed tokens have buckets of their own, above those of users and sessions. Who adds a token locks its bucket
    /// exclusively, and then finds its holder.
    init(tokens: some Sequence<TypedTokenAddress>, in app: AppNumber) {
        self.app = app
        buckets = Set(tokens.map { Self.count + Self.bucket($0.sha256) % Self.tokenCount }).sorted()
    }

    private static func bucket(_ digest: [UInt8]) -> Int32 {
        (Int32(digest[0]) << 8 | Int32(digest[1])) % count
    }

    package var shared: PostgresStatement { LockBucketStatements.share(app.rawValue, buckets) }
    package var exclusive: PostgresStatement { LockBucketStatements.lock(app.rawValue, buckets) }
}

/// The SQL of `LockBuckets`. `$1` is the app, `$2` are the buckets in ascending order.
enum LockBucketStatements {
    /// PUT …/installations/{installId}, import (R7): begins bindings.
    static let share = PreparedSQL(
        "SELECT pg_advisory_xact_lock_shared($1, k.bucket) FROM unnest($2::integer[]) AS k (bucket)")

    /// Logouts of users, ends of sessions, PATCH …/users/{userId}/topics (R7): lets no binding begin. Calls that add
    /// typed tokens (R1): lets no other installation take them.
    static let lock = PreparedSQL(
        "SELECT pg_advisory_xact_lock($1, k.bucket) FROM unnest($2::integer[]) AS k (bucket)")
}

/// Digests of users, as guards and snapshots name them.
package enum UserDigest {
    package static func sha256(_ userID: UserID) -> [UInt8] {
        SHA256.hash(data: Array(userID.rawValue.utf8)).withUnsafeBytes { Array($0) }
    }

    /// The same in SQL; NULL without a user.
    ///
    /// - Parameter userID: an expression.
    package static func sha256(of userID: PostgresSQL) -> PostgresSQL { "sha256(convert_to(\(sql: userID), 'UTF8'))" }

    /// - Parameter digits: pairs of hexadecimal digits, as PostgreSQL writes them.
    package static func bytes(_ digits: String) -> [UInt8] {
        let digits = Array(digits.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).map { index in
            UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) ?? 0
        }
    }

    /// The first 64 bits, as `installation.registrant` has them.
    package static func registrant(_ sha256: [UInt8]) -> Int64 {
        sha256.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }
}

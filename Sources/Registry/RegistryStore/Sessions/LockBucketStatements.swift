import PostgresClient

/// The SQL of `LockBuckets`. `$1` is the app, `$2` are the buckets in ascending order.
enum LockBucketStatements {
    /// PUT …/installations/{installId}, import (R7): begins bindings.
    static let share = PreparedSQL(
        "SELECT pg_advisory_xact_lock_shared($1, k.bucket) FROM unnest($2::integer[]) AS k (bucket)")

    /// Logouts of users, ends of sessions, PATCH …/users/{userId}/topics (R7): lets no binding begin.
    static let lock = PreparedSQL(
        "SELECT pg_advisory_xact_lock($1, k.bucket) FROM unnest($2::integer[]) AS k (bucket)")
}

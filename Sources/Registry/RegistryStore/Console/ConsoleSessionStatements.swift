import PostgresClient
import PushRegistry

/// The SQL of `/console/v1/session`, and of the look-up of the session of every call under `/console/v1`.
enum ConsoleSessionStatements {
    /// Every call under /console/v1: reads the session.
    static let read = PreparedSQL(
        "SELECT key_id, admin_proof, created_at, last_used_at FROM console_session WHERE sha256 = $1")

    /// A call under /console/v1, once a minute: records that the session is in use.
    static let recordUse = PreparedSQL(
        "UPDATE console_session SET last_used_at = $2 WHERE sha256 = $1 AND last_used_at < $2")

    /// Sign-ins of one key at the same moment may leave a few sessions more.
    static let add = PreparedSQL(
        """
        WITH crowded AS (
            DELETE FROM console_session WHERE sha256 IN (
                SELECT sha256 FROM console_session WHERE key_id IS NOT DISTINCT FROM $2
                ORDER BY last_used_at DESC OFFSET $6 - 1)
        )
        INSERT INTO console_session (sha256, key_id, admin_proof, created_at, last_used_at) VALUES ($1, $2, $3, $4, $5)
        """)

    /// DELETE /console/v1/session: removes the session.
    static let remove = PreparedSQL(
        "DELETE FROM console_session WHERE sha256 = $1")

    /// A service's background task: removes sessions of the console that ended days ago.
    static let sweep = PreparedSQL(
        "DELETE FROM console_session WHERE last_used_at < $1")
}

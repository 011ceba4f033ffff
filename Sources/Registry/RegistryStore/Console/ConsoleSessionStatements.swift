import PostgresClient
import PushRegistry

/// The SQL of `/console/v1/session` and `/console/v1/signed-in`, and of the look-up of the session of every call under
/// `/console/v1`.
enum ConsoleSessionStatements {
    /// Every call under /console/v1: reads the session.
    static let read = PreparedSQL(
        """
        SELECT created_at, last_used_at, key_id, admin_proof, issuer, subject, name, groups, sign_in
        FROM console_session WHERE sha256 = $1
        """)

    /// A call under /console/v1, once a minute: records that the session is in use.
    static let recordUse = PreparedSQL(
        "UPDATE console_session SET last_used_at = $2 WHERE sha256 = $1 AND last_used_at < $2")

    /// Sign-ins of one key or person at the same moment may leave a few sessions more. A sign-in at a provider adds one
    /// session.
    static let add = PreparedSQL(
        """
        WITH crowded AS (
            DELETE FROM console_session WHERE sha256 IN (
                SELECT sha256 FROM console_session
                WHERE key_id IS NOT DISTINCT FROM $4 AND (issuer, subject) IS NOT DISTINCT FROM ($6, $7)
                ORDER BY last_used_at DESC OFFSET $11 - 1)
        )
        INSERT INTO console_session
            (sha256, created_at, last_used_at, key_id, admin_proof, issuer, subject, name, groups, sign_in)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (sign_in) DO NOTHING RETURNING true
        """)

    /// DELETE /console/v1/session: removes the session.
    static let remove = PreparedSQL(
        "DELETE FROM console_session WHERE sha256 = $1")

    /// A service's background task: removes sessions of the console that ended days ago.
    static let sweep = PreparedSQL(
        "DELETE FROM console_session WHERE last_used_at < $1")
}

import PostgresClient
import PushRegistry

/// The SQL that checks a user's credential.
enum CredentialStatements {
    /// - Parameter key: nil for a call of no installation.
    static func tombstones(
        of credential: UserCredential, on key: InstallationKey?, in app: AppNumber
    ) -> PostgresStatement {
        PostgresStatement(
            tombstonesSQL, app.rawValue, key?.installID.rawValue, UserDigest.sha256(credential.owner.userID),
            credential.owner.session?.id.rawValue)
    }

    /// The session's end, its exception from a logout, the logouts of this installation, with the session and without
    /// one, the time, when the session left an installation, and the user's logout. `$3` is the user's digest.
    private static let tombstonesSQL = PreparedSQL(
        """
        SELECT
            (SELECT ended_at FROM session WHERE app_id = $1 AND session_id = $4),
            (SELECT kept_number FROM session WHERE app_id = $1 AND session_id = $4),
            (SELECT logged_out_at FROM installation_logout
                WHERE app_id = $1 AND install_id = $2 AND user_sha256 = $3 AND session_id = $4),
            (SELECT logged_out_at FROM installation_logout
                WHERE app_id = $1 AND install_id = $2 AND user_sha256 = $3 AND session_id = ''),
            statement_timestamp(),
            (SELECT left_number FROM session WHERE app_id = $1 AND session_id = $4 AND user_sha256 = $3),
            (SELECT refused_before FROM user_guard WHERE app_id = $1 AND user_sha256 = $3),
            (SELECT refused_number FROM user_guard WHERE app_id = $1 AND user_sha256 = $3)
        """)
}

import PostgresClient
import PushRegistry

extension PostgresUserStore {
    /// GET and DELETE of an installation by a user's JWT (R7): one read without locks. A logout that commits meanwhile
    /// is as good as one that comes after the call.
    public func hasEnded(
        _ credential: UserCredential, on key: InstallationKey, remembering tombstones: ISO8601Duration
    ) async throws -> Bool {
        let (owner, session) = (credential.owner, credential.owner.session)
        do {
            let row = try await resources.postgres.execute(
                PostgresStatement(
                    CredentialStatements.signOuts, key.app.rawValue, key.installID.rawValue, owner.userID.rawValue,
                    session?.id.rawValue))[0]
            var signOuts = SignOuts()
            signOuts.users[.init(app: key.app, userID: owner.userID)] = try row.time(0)
            if let session {
                signOuts.endedSessions[.init(app: key.app, sessionID: session.id)] = try row.time(1)
                signOuts.keptSessions[.init(app: key.app, sessionID: session.id)] = try row.time(2)
                signOuts.seenSessions[.init(app: key.app, sessionID: session.id)] = try row.time(6)
                signOuts.installations[.init(key: key, userID: owner.userID, sessionID: session.id)] = try row.time(3)
            }
            signOuts.installations[.init(key: key, userID: owner.userID, sessionID: nil)] = try row.time(4)
            return signOuts.end(
                credential, on: key, remembering: tombstones,
                at: Timestamp(try row.decode(5, as: PostgresTimestamp.self)))
        } catch {
            throw StoreError(error)
        }
    }
}

/// The SQL of what ends a user's credential.
private enum CredentialStatements {
    /// GET and DELETE `…/installations/{installId}`, R7: the user's logout everywhere, the session's end, the session's
    /// exception from a logout everywhere, and the logouts of this installation, with and without the session.
    static let signOuts = PreparedSQL(
        """
        SELECT
            (SELECT refused_before FROM user_guard WHERE app_id = $1 AND user_sha256 = user_digest($3)),
            (SELECT ended_at FROM session WHERE app_id = $1 AND session_id = $4),
            (SELECT kept_at FROM session WHERE app_id = $1 AND session_id = $4),
            (SELECT logged_out_at FROM installation_logout
                WHERE app_id = $1 AND install_id = $2 AND user_sha256 = user_digest($3) AND session_id = $4),
            (SELECT logged_out_at FROM installation_logout
                WHERE app_id = $1 AND install_id = $2 AND user_sha256 = user_digest($3) AND session_id = ''),
            statement_timestamp(),
            (SELECT seen_at FROM session WHERE app_id = $1 AND session_id = $4 AND user_sha256 = user_digest($3))
        """)
}

extension PostgresRow {
    fileprivate func time(_ column: Int) throws -> Timestamp? {
        try decode(column, as: PostgresTimestamp?.self).map(Timestamp.init)
    }
}

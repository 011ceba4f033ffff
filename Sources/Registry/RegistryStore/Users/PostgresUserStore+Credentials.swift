import PostgresClient
import PushRegistry

extension PostgresUserStore {
    /// GET and DELETE of an installation by a user's JWT (R7): one read without locks.
    public func hasEnded(
        _ credential: UserCredential, on key: InstallationKey?, in app: AppNumber,
        remembering tombstones: ISO8601Duration
    ) async throws -> Bool {
        do {
            let rows = try await resources.serving(app) {
                try await resources.postgres.read(CredentialStatements.tombstones(of: credential, on: key, in: app))
            }
            return try Tombstones(rows[0], of: credential, on: key, in: app).hasEnded(
                credential, on: key, in: app, remembering: tombstones,
                at: Timestamp(try rows[0].decode(4, as: PostgresTimestamp.self)))
        } catch {
            throw StoreError(error)
        }
    }
}

extension Tombstones {
    /// - Parameter row: of `CredentialStatements.tombstones`.
    init(
        _ row: PostgresRow, of credential: UserCredential, on key: InstallationKey?, in app: AppNumber
    ) throws {
        self.init()
        let (userID, session) = (credential.owner.userID, credential.owner.session)
        users[.init(app: app, userID: userID)] = try row.userLogout(6)
        if let session {
            endedSessions[.init(app: app, sessionID: session.id)] = try row.time(0)
            keptSessions[.init(app: app, sessionID: session.id)] = try row.decode(1)
            leftSessions[.init(app: app, sessionID: session.id, userID: userID)] = try row.decode(5)
        }
        guard let key else { return }
        if let session { installations[.init(key: key, userID: userID, sessionID: session.id)] = try row.time(2) }
        installations[.init(key: key, userID: userID, sessionID: nil)] = try row.time(3)
    }
}

extension PostgresRow {
    fileprivate func time(_ column: Int) throws -> Timestamp? {
        try decode(column, as: PostgresTimestamp?.self).map(Timestamp.init)
    }
}

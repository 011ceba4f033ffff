import PostgresClient
import PushRegistry

/// The checks of JWTs within the transaction of a batch (R7).
struct CredentialChecks {
    private let app: AppNumber
    private let items: [(index: Int, patch: TopicsPatch, credential: UserCredential, key: InstallationKey?)]

    /// - Parameter batch: patches, each with the installation whose logouts also end a credential.
    init(_ batch: [(patch: TopicsPatch, key: InstallationKey?)], in app: AppNumber) {
        self.app = app
        items = batch.enumerated().compactMap { index, item in
            item.patch.credential.map { (index, item.patch, $0, item.key) }
        }
    }

    var statements: [PostgresStatement] {
        items.map { CredentialStatements.tombstones(of: $0.credential, on: $0.key, in: app) }
    }

    /// The indices in the batch of the patches whose credential has ended.
    func refusals(_ results: ArraySlice<PostgresResult>, at now: Timestamp) throws -> Set<Int> {
        var refused: Set<Int> = []
        for (item, result) in zip(items, results) {
            let tombstones = try Tombstones(result[0], of: item.credential, on: item.key, in: app)
            let hasEnded = tombstones.hasEnded(
                item.credential, on: item.key, in: app, remembering: item.patch.sessionTombstones, at: now)
            if hasEnded { refused.insert(item.index) }
        }
        return refused
    }
}

/// The SQL that checks a user's credential.
enum CredentialStatements {
    /// - Parameter key: nil for a call of no installation.
    static func tombstones(
        of credential: UserCredential, on key: InstallationKey?, in app: AppNumber
    ) -> PostgresStatement {
        tombstonesSQL(
            app.rawValue, key?.installID.rawValue, UserDigest.sha256(credential.owner.userID),
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

extension PostgresUserStore {
    /// GET and DELETE of an installation by a user's JWT (R7): one read without locks.
    public func hasEnded(
        _ credential: UserCredential, on key: InstallationKey?, in app: AppNumber,
        remembering tombstones: ISO8601Duration
    ) async throws -> Bool {
        try await resources.storing(app) {
            let rows = try await resources.postgres.read(
                CredentialStatements.tombstones(of: credential, on: key, in: app))
            return try Tombstones(rows[0], of: credential, on: key, in: app).hasEnded(
                credential, on: key, in: app, remembering: tombstones,
                at: Timestamp(try rows[0].decode(4, as: PostgresTimestamp.self)))
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

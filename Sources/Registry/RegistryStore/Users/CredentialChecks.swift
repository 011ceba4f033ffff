import PostgresClient
import PushRegistry

/// The checks of users' JWTs within the transaction of a batch (R7).
struct CredentialChecks {
    private let app: AppNumber
    private let items: [(index: Int, credential: UserCredential, key: InstallationKey?, memory: ISO8601Duration)]

    /// - Parameter batch: calls, each with its credential, the installation whose logouts also end it, and how long the
    ///   ends of sessions are remembered.
    init(
        _ batch: [(credential: UserCredential?, key: InstallationKey?, memory: ISO8601Duration)], in app: AppNumber
    ) {
        self.app = app
        items = batch.enumerated().compactMap { index, call in
            call.credential.map { (index, $0, call.key, call.memory) }
        }
    }

    var statements: [PostgresStatement] {
        items.map { item in
            CredentialStatements.tombstones(
                app.rawValue, item.key?.installID.rawValue, UserDigest.sha256(item.credential.owner.userID),
                item.credential.owner.session?.id.rawValue)
        }
    }

    /// The indices in the batch of the calls whose credential has ended.
    ///
    /// - Parameter time: nil: that of the statements.
    func refusals(_ results: ArraySlice<PostgresResult>, at time: Timestamp? = nil) throws -> Set<Int> {
        var refused: Set<Int> = []
        for (item, result) in zip(items, results) {
            let row = try result[0]
            let tombstones = try Tombstones(row, of: item.credential, on: item.key, in: app)
            let now = try time ?? Timestamp(row.decode(4))
            if tombstones.hasEnded(item.credential, on: item.key, in: app, remembering: item.memory, at: now) {
                refused.insert(item.index)
            }
        }
        return refused
    }
}

/// The SQL that checks a user's credential.
enum CredentialStatements {
    /// The session's end, its exception from a logout, the logouts of this installation, with the session and without
    /// one, the time, when the session left an installation, and the user's logout. `$2` is the installation, or NULL
    /// for a call of none, `$3` the user's digest, `$4` the session.
    static let tombstones = PreparedSQL(
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
            let checks = CredentialChecks([(credential, key, tombstones)], in: app)
            return try await !checks.refusals(resources.postgres.read(checks.statements)[...]).isEmpty
        }
    }
}

extension Tombstones {
    /// - Parameter row: of `CredentialStatements.tombstones`.
    fileprivate init(
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

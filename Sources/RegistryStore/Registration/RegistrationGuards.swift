import Crypto
import PostgresClient
import PushRegistry

/// The rows of users and sessions under which a batch's registrations may begin bindings (R7). Registrations and
/// logouts lock them.
struct RegistrationGuards {
    private let app: AppNumber
    private let users: [(id: UserID, sha256: [UInt8])]
    private let sessions: [(id: SessionID, userSHA256: [UInt8])]
    private let bindings: [(on: Tombstones.OnInstallation, userSHA256: [UInt8])]

    /// Nil if none of the registrations, all of one app, has an owner.
    init?(_ batch: [PendingRegistration]) {
        var users: [UserID: [UInt8]] = [:]
        var sessions: [SessionID: [UInt8]] = [:]
        var bindings: [(Tombstones.OnInstallation, [UInt8])] = []
        for pending in batch {
            guard let owner = pending.registration.owner, let digest = pending.userSHA256 else { continue }
            users[owner.userID] = digest
            if let session = owner.session { sessions[session.id] = digest }
            let on = Tombstones.OnInstallation(
                key: pending.registration.key, userID: owner.userID, sessionID: owner.session?.id)
            bindings.append((on, digest))
        }
        guard let first = batch.first, !users.isEmpty else { return nil }
        app = first.app
        self.users = users.map { ($0, $1) }
        // Rows are added in the order in which they are locked.
        self.sessions = sessions.map { ($0, $1) }.sorted {
            $0.0.rawValue.utf8.lexicographicallyPrecedes($1.0.rawValue.utf8)
        }
        self.bindings = bindings.map { ($0, $1) }
    }

    /// Adds and locks the rows, users first. Runs before tokens and installations are locked.
    var locks: [PostgresStatement] { [addUsers] + locksOfAdded(usersAreNew: false) }

    /// Adds the users' rows.
    var addUsers: PostgresStatement { GuardStatements.add(users.map(\.sha256), in: app) }

    /// Whether none of the users had a row. Then others cannot see the rows until the transaction ends, and they need
    /// no lock.
    ///
    /// - Parameter added: the result of `addUsers`.
    func areUsersNew(_ added: PostgresResult) -> Bool { added.affectedRows == users.count }

    /// Runs after `addUsers`.
    func locksOfAdded(usersAreNew: Bool) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if !usersAreNew {
            statements.append(PostgresStatement(GuardStatements.shareUsers, app.rawValue, users.map(\.sha256)))
        }
        guard !sessions.isEmpty else { return statements }
        let ids = sessions.map(\.id.rawValue)
        let add = usersAreNew ? GuardStatements.addSessionsOfNewUsers : GuardStatements.addSessions
        statements.append(PostgresStatement(add, app.rawValue, ids, sessions.map(\.userSHA256)))
        statements.append(PostgresStatement(GuardStatements.shareSessions, app.rawValue, ids))
        return statements
    }

    /// Runs after the installations are locked: a logout of an installation locks it, too.
    var logouts: PostgresStatement {
        PostgresStatement(
            GuardStatements.installationLogouts, app.rawValue, bindings.map(\.on.key.installID.rawValue),
            bindings.map(\.userSHA256), bindings.map { $0.on.sessionID?.rawValue })
    }

    /// - Parameters:
    ///   - locks: the results of `locksOfAdded`.
    ///   - logouts: the result of `logouts`.
    /// - Throws: `LostRace` if the night job removed a row between adding and locking it.
    func decode(locks: [PostgresResult], usersAreNew: Bool, logouts: PostgresResult) throws -> Tombstones {
        let userRows = usersAreNew ? nil : locks[0]
        let sessionRows = sessions.isEmpty ? nil : locks[locks.count - 1]
        guard userRows.map({ $0.count == users.count }) ?? true,
            sessionRows.map({ $0.count == sessions.count }) ?? true
        else { throw LostRace() }
        var tombstones = Tombstones()
        for row in userRows.map(Array.init) ?? [] {
            let user = Tombstones.User(app: app, userID: users[try row.position].id)
            tombstones.users[user] = try row.decode(1, as: PostgresTimestamp?.self).map(Timestamp.init)
        }
        if let sessionRows { try decodeSessions(sessionRows, into: &tombstones) }
        for row in logouts {
            let binding = bindings[try row.position].on
            let logout = Tombstones.OnInstallation(
                key: binding.key, userID: binding.userID, sessionID: try row.decode(1) ? binding.sessionID : nil)
            tombstones.installations[logout] = Timestamp(try row.decode(2, as: PostgresTimestamp.self))
        }
        return tombstones
    }

    /// The users' choices about topics, which are locked with the users. A new user has none.
    ///
    /// - Parameter locks: the results of `locksOfAdded`.
    func userChoices(locks: [PostgresResult], usersAreNew: Bool) throws -> [UserID: TopicChoices] {
        var choices = Dictionary(uniqueKeysWithValues: users.map { ($0.id, TopicChoices()) })
        guard !usersAreNew else { return choices }
        for row in locks[0] {
            choices[users[try row.position].id] = TopicChoices(codes: try row.decode(2, as: [Int32]?.self) ?? [])
        }
        return choices
    }

    private func decodeSessions(_ rows: PostgresResult, into tombstones: inout Tombstones) throws {
        let userIDs = Dictionary(uniqueKeysWithValues: users.map { ($0.sha256, $0.id) })
        for row in rows {
            let id = sessions[try row.position].id
            let session = Tombstones.Session(app: app, sessionID: id)
            tombstones.endedSessions[session] = try row.decode(1, as: PostgresTimestamp?.self).map(Timestamp.init)
            tombstones.keptSessions[session] = try row.decode(2, as: PostgresTimestamp?.self).map(Timestamp.init)
            guard let userID = try row.decode(3, as: [UInt8]?.self).flatMap({ userIDs[$0] }) else { continue }
            tombstones.seenSessions[.init(app: app, sessionID: id, userID: userID)] = Timestamp(
                try row.decode(4, as: PostgresTimestamp.self))
        }
    }
}

extension PostgresRow {
    /// In the arrays that were sent.
    fileprivate var position: Int {
        get throws { try decode(0, as: Int.self) - 1 }
    }
}

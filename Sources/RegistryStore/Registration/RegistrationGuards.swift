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
        self.sessions = sessions.map { ($0, $1) }
        self.bindings = bindings.map { ($0, $1) }
    }

    /// Adds and locks the rows, users first. Runs before tokens and installations are locked.
    var locks: [PostgresStatement] {
        let digests = users.map(\.sha256)
        var statements = [
            GuardStatements.add(digests, in: app),
            PostgresStatement(GuardStatements.shareUsers, app.rawValue, digests),
        ]
        guard !sessions.isEmpty else { return statements }
        let ids = sessions.map(\.id.rawValue)
        statements.append(
            PostgresStatement(GuardStatements.addSessions, app.rawValue, ids, sessions.map(\.userSHA256)))
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
    ///   - locks: the results of `locks`.
    ///   - logouts: the result of `logouts`.
    /// - Throws: `LostRace` if the night job removed a row between adding and locking it.
    func decode(locks: [PostgresResult], logouts: PostgresResult) throws -> Tombstones {
        guard locks[1].count == users.count, sessions.isEmpty || locks[3].count == sessions.count else {
            throw LostRace()
        }
        var tombstones = Tombstones()
        for row in locks[1] {
            let user = Tombstones.User(app: app, userID: users[try row.position].id)
            tombstones.users[user] = try row.decode(1, as: PostgresTimestamp?.self).map(Timestamp.init)
        }
        if !sessions.isEmpty { try decodeSessions(locks[3], into: &tombstones) }
        for row in logouts {
            let binding = bindings[try row.position].on
            let logout = Tombstones.OnInstallation(
                key: binding.key, userID: binding.userID, sessionID: try row.decode(1) ? binding.sessionID : nil)
            tombstones.installations[logout] = Timestamp(try row.decode(2, as: PostgresTimestamp.self))
        }
        return tombstones
    }

    /// The users' choices about topics, which are locked with the users.
    ///
    /// - Parameter locks: the results of `locks`.
    func userChoices(locks: [PostgresResult]) throws -> [UserID: TopicChoices] {
        var choices: [UserID: TopicChoices] = [:]
        for row in locks[1] {
            choices[users[try row.position].id] = TopicChoices(codes: try row.decode(2, as: [Int32]?.self) ?? [])
        }
        return choices
    }

    private func decodeSessions(_ rows: PostgresResult, into tombstones: inout Tombstones) throws {
        for row in rows {
            let session = Tombstones.Session(app: app, sessionID: sessions[try row.position].id)
            tombstones.endedSessions[session] = try row.decode(1, as: PostgresTimestamp?.self).map(Timestamp.init)
            tombstones.keptSessions[session] = try row.decode(2, as: PostgresTimestamp?.self).map(Timestamp.init)
            guard try row.decode(3, as: [UInt8]?.self) == sessions[try row.position].userSHA256 else { continue }
            tombstones.seenSessions[session] = Timestamp(try row.decode(4, as: PostgresTimestamp.self))
        }
    }
}

extension PostgresRow {
    /// In the arrays that were sent.
    fileprivate var position: Int {
        get throws { try decode(0, as: Int.self) - 1 }
    }
}

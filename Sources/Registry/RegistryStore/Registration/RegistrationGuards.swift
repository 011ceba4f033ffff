import PostgresClient
import PushRegistry

/// The users and sessions under which a batch's registrations may begin bindings, and what is remembered of them (R7).
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

    /// Runs before tokens and installations are locked.
    var lock: PostgresStatement {
        LockBuckets(users: users.map(\.sha256), sessions: sessions.map(\.id.rawValue), in: app).shared
    }

    /// Run after the installations are locked: a logout of an installation locks it, too.
    var reads: [PostgresStatement] {
        [
            PostgresStatement(
                GuardStatements.installationLogouts, app.rawValue, bindings.map(\.on.key.installID.rawValue),
                bindings.map(\.userSHA256), bindings.map { $0.on.sessionID?.rawValue }),
            PostgresStatement(GuardStatements.users, app.rawValue, users.map(\.sha256)),
        ]
            + (sessions.isEmpty
                ? [] : [PostgresStatement(GuardStatements.sessions, app.rawValue, sessions.map(\.id.rawValue))])
    }

    /// The tombstones, and the users' choices about topics.
    ///
    /// - Parameter results: of `reads`.
    func decode(_ results: [PostgresResult]) throws -> (tombstones: Tombstones, choices: [UserID: TopicChoices]) {
        var tombstones = Tombstones()
        for row in results[0] {
            let binding = bindings[try row.position].on
            let logout = Tombstones.OnInstallation(
                key: binding.key, userID: binding.userID, sessionID: try row.decode(1) ? binding.sessionID : nil)
            tombstones.installations[logout] = Timestamp(try row.decode(2, as: PostgresTimestamp.self))
        }
        var choices = Dictionary(uniqueKeysWithValues: users.map { ($0.id, TopicChoices()) })
        for user in try results[1].map(RememberedUser.init) {
            let id = users[user.index].id
            tombstones.users[.init(app: app, userID: id)] = user.logout
            choices[id] = user.choices
        }
        if !sessions.isEmpty { try decodeSessions(results[2], into: &tombstones) }
        return (tombstones, choices)
    }

    private func decodeSessions(_ rows: PostgresResult, into tombstones: inout Tombstones) throws {
        let userIDs = Dictionary(uniqueKeysWithValues: users.map { ($0.sha256, $0.id) })
        for row in rows {
            let id = sessions[try row.position].id
            let session = Tombstones.Session(app: app, sessionID: id)
            tombstones.endedSessions[session] = try row.decode(1, as: PostgresTimestamp?.self).map(Timestamp.init)
            tombstones.keptSessions[session] = try row.decode(2)
            guard let userID = try row.decode(3, as: [UInt8]?.self).flatMap({ userIDs[$0] }) else { continue }
            tombstones.leftSessions[.init(app: app, sessionID: id, userID: userID)] = try row.decode(4)
        }
    }
}

extension PostgresRow {
    /// In the arrays that were sent.
    fileprivate var position: Int {
        get throws { try decode(0, as: Int.self) - 1 }
    }
}

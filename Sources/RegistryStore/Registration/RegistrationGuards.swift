import Crypto
import PostgresClient
import PushRegistry

/// The users and sessions that a batch's registrations begin bindings under (R7), as the rows at which registrations and logouts meet:
/// those that are there are locked, those that are missing are made, each once.
struct RegistrationGuards {
    private let users: [SignOuts.User]
    private let userDigests: [[UInt8]]
    private let sessions: [SignOuts.Session]
    private let sessionDigests: [[UInt8]]
    private let bindings: [SignOuts.OnInstallation]
    private let bindingDigests: [[UInt8]]

    /// - Parameter registrations: nil is made of none that have an owner.
    init?(_ registrations: [Registration]) {
        let owned = registrations.compactMap { registration in registration.owner.map { (registration.key, $0) } }
        guard !owned.isEmpty else { return nil }
        var users: [SignOuts.User: [UInt8]] = [:]
        var sessions: [SignOuts.Session: [UInt8]] = [:]
        bindings = owned.map { SignOuts.OnInstallation(key: $0, userID: $1.userID, sessionID: $1.session?.id) }
        bindingDigests = owned.map { key, owner in
            let digest = Array(SHA256.hash(data: Array(owner.userID.rawValue.utf8)))
            users[SignOuts.User(app: key.app, userID: owner.userID)] = digest
            if let session = owner.session { sessions[SignOuts.Session(app: key.app, sessionID: session.id)] = digest }
            return digest
        }
        (self.users, userDigests) = (Array(users.keys), Array(users.values))
        (self.sessions, sessionDigests) = (Array(sessions.keys), Array(sessions.values))
    }

    /// How many statements `locks` are.
    static let lockCount = 4

    /// To be carried out before installations are locked.
    var locks: [PostgresStatement] {
        let (userApps, sessionApps) = (users.map(\.app.rawValue), sessions.map(\.app.rawValue))
        let sessionIDs = sessions.map(\.sessionID.rawValue)
        return [
            PostgresStatement(GuardStatements.shareUsers, userApps, userDigests),
            PostgresStatement(GuardStatements.addUsers, userApps, userDigests),
            PostgresStatement(GuardStatements.shareSessions, sessionApps, sessionIDs),
            PostgresStatement(GuardStatements.addSessions, sessionApps, sessionIDs, sessionDigests),
        ]
    }

    /// To be carried out once installations are locked, which is what a logout of one needs.
    var logouts: PostgresStatement {
        PostgresStatement(
            GuardStatements.installationLogouts, bindings.map(\.key.app.rawValue),
            bindings.map(\.key.installID.rawValue), bindingDigests, bindings.map { $0.sessionID?.rawValue })
    }

    /// - Throws: `ForgottenGuard`.
    func decode(locks: ArraySlice<PostgresResult>, logouts: PostgresResult) throws -> SignOuts {
        let locks = Array(locks)
        guard locks[0].count + locks[1].affectedRows == users.count,
            locks[2].count + locks[3].affectedRows == sessions.count
        else { throw ForgottenGuard() }
        var signOuts = SignOuts()
        for row in locks[0] {
            signOuts.users[users[try row.position]] = try row.decode(1, as: PostgresTimestamp?.self).map(Timestamp.init)
        }
        for row in locks[2] {
            let session = sessions[try row.position]
            signOuts.endedSessions[session] = try row.decode(1, as: PostgresTimestamp?.self).map(Timestamp.init)
            signOuts.keptSessions[session] = try row.decode(2, as: PostgresTimestamp?.self).map(Timestamp.init)
        }
        for row in logouts {
            let binding = bindings[try row.position]
            let logout = SignOuts.OnInstallation(
                key: binding.key, userID: binding.userID, sessionID: try row.decode(1) ? binding.sessionID : nil)
            signOuts.installations[logout] = Timestamp(try row.decode(2, as: PostgresTimestamp.self))
        }
        return signOuts
    }
}

extension PostgresRow {
    /// In the arrays that were sent.
    fileprivate var position: Int {
        get throws { try decode(0, as: Int.self) - 1 }
    }
}

import PostgresClient
import PushRegistry

/// What a transaction locks and reads before the rules decide, in one unit: users, sessions, installations.
struct RegistrationLoad {
    private let registrations: [Registration]
    /// Those that may concern more than their own installation.
    private let wide: [Registration]
    /// Those of them that may begin a binding (R7).
    private let guarded: [Registration]

    /// - Parameter wide: the installations whose registrations may concern others.
    init(_ batch: [PendingRegistration], wide keys: Set<InstallationKey>) {
        registrations = batch.map(\.registration)
        wide = registrations.filter { keys.contains($0.key) }
        guarded = wide.filter { $0.owner != nil }
    }

    var statements: [PostgresStatement] {
        let lock = PostgresStatement(
            RegistrationStatements.lock, registrations.map(\.key.app.rawValue),
            registrations.map(\.key.installID.rawValue),
            wide.map(\.key.app.rawValue), wide.map(\.token.provider.rawValue), wide.map(\.tokenSHA256),
            wide.map(\.snapshot.device.keychainID))
        let now = PostgresStatement(RegistrationStatements.now)
        guard !guarded.isEmpty else { return [lock, now] }
        return guards + [lock, now, installationLogouts]
    }

    /// The users' and sessions' rows, made where they are missing and locked.
    private var guards: [PostgresStatement] {
        let apps = guarded.map(\.key.app.rawValue)
        let users = guarded.map { $0.owner?.userID.rawValue }
        let sessions = guarded.map { $0.owner?.session?.id.rawValue }
        return [
            PostgresStatement(GuardStatements.addUsers, apps, users),
            PostgresStatement(GuardStatements.addSessions, apps, users, sessions),
            PostgresStatement(GuardStatements.shareUsers, apps, users),
            PostgresStatement(GuardStatements.shareSessions, apps, sessions),
        ]
    }

    private var installationLogouts: PostgresStatement {
        PostgresStatement(
            GuardStatements.installationLogouts, guarded.map(\.key.app.rawValue),
            guarded.map(\.key.installID.rawValue), guarded.map { $0.owner?.userID.rawValue },
            guarded.map { $0.owner?.session?.id.rawValue })
    }

    /// - Throws: `ForgottenGuard`; `PostgresError`.
    func decode(_ results: [PostgresResult]) throws -> LockedInstallations {
        let first = guarded.isEmpty ? 0 : 4
        guard guarded.isEmpty || (results[2].count == userCount && results[3].count == sessionCount) else {
            throw ForgottenGuard()
        }
        let signOuts = guarded.isEmpty ? SignOuts() : try SignOuts(users: results[2], sessions: results[3], results[6])
        return LockedInstallations(
            try results[first].map { try InstallationColumns.decode($0) }, signOuts: signOuts,
            now: Timestamp(try results[first + 1][0].decode(0)))
    }

    private var userCount: Int {
        Set(guarded.compactMap { it in it.owner.map { SignOuts.User(app: it.key.app, userID: $0.userID) } }).count
    }

    private var sessionCount: Int {
        Set(guarded.compactMap { it in it.owner?.session.map { SignOuts.Session(app: it.key.app, sessionID: $0.id) } })
            .count
    }
}

/// The night job forgot a user or session between the statement that makes the row sure to be there and the one that locks it. Without
/// the lock a logout might commit beside the binding that it ends (R7), so the transaction begins anew.
struct ForgottenGuard: Error {}

extension SignOuts {
    fileprivate init(users: PostgresResult, sessions: PostgresResult, _ logouts: PostgresResult) throws {
        self.init()
        for row in users {
            let user = User(app: AppNumber(try row.decode(0)), userID: try UserID(row.decode(1)))
            self.users[user] = try row.decode(2, as: PostgresTimestamp?.self).map(Timestamp.init)
        }
        for row in sessions {
            let session = Session(app: AppNumber(try row.decode(0)), sessionID: try SessionID(row.decode(1)))
            endedSessions[session] = try row.decode(2, as: PostgresTimestamp?.self).map(Timestamp.init)
            keptSessions[session] = try row.decode(3, as: PostgresTimestamp?.self).map(Timestamp.init)
        }
        for row in logouts {
            let key = InstallationKey(app: AppNumber(try row.decode(0)), installID: try InstallID(row.decode(1)))
            let sessionID = try row.decode(3, as: String.self)
            let logout = OnInstallation(
                key: key, userID: try UserID(row.decode(2)),
                sessionID: sessionID.isEmpty ? nil : try SessionID(sessionID))
            installations[logout] = Timestamp(try row.decode(4, as: PostgresTimestamp.self))
        }
    }
}

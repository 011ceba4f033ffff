import PostgresClient
import PushRegistry

/// The users and sessions under which bindings may begin, or calls may be made, and what is remembered of them (R7).
package struct RegistrationGuards {
    private let app: AppNumber
    package private(set) var users: [[UInt8]: UserID] = [:]
    private(set) var sessions: Set<String> = []
    private var bindings: [String: (on: Tombstones.OnInstallation, userSHA256: [UInt8])] = [:]

    /// Nil if none of the registrations, all of one app, has an owner.
    init?(_ batch: [PendingRegistration]) {
        app = batch[0].app
        for pending in batch {
            guard let owner = pending.registration.owner, let digest = pending.userSHA256 else { continue }
            add(owner, digest, on: pending.registration.key)
        }
        if users.isEmpty { return nil }
    }

    package init(in app: AppNumber) {
        self.app = app
    }

    /// - Parameter key: the installation whose logouts also count. No two calls of a batch are about the same one.
    package mutating func add(_ owner: Owner, _ userSHA256: [UInt8], on key: InstallationKey?) {
        users[userSHA256] = owner.userID
        if let session = owner.session { sessions.insert(session.id.rawValue) }
        guard let key else { return }
        let on = Tombstones.OnInstallation(key: key, userID: owner.userID, sessionID: owner.session?.id)
        bindings[key.installID.rawValue] = (on, userSHA256)
    }

    /// Runs before tokens and installations are locked.
    package var lock: PostgresStatement { LockBuckets(users: users.keys, sessions: sessions, in: app).shared }

    /// Run after the installations are locked: a logout of an installation locks it, too.
    package var reads: [PostgresStatement] {
        let bindings = Array(bindings)
        let logouts = GuardStatements.installationLogouts(
            app.rawValue, bindings.map(\.key), bindings.map(\.value.userSHA256),
            bindings.map { $0.value.on.sessionID?.rawValue })
        return (bindings.isEmpty ? [] : [logouts]) + [GuardStatements.users(app.rawValue, Array(users.keys))]
            + (sessions.isEmpty ? [] : [GuardStatements.sessions(app.rawValue, Array(sessions))])
    }

    /// The tombstones, and the users' choices about topics.
    ///
    /// - Parameter results: of `reads`.
    package func decode(_ results: ArraySlice<PostgresResult>) throws -> (
        tombstones: Tombstones, choices: [UserID: TopicChoices]
    ) {
        var (tombstones, results) = (Tombstones(), results)
        for row in bindings.isEmpty ? [] : Array(results.removeFirst()) {
            guard let binding = bindings[try row.decode(0)]?.on else { continue }
            let logout = Tombstones.OnInstallation(
                key: binding.key, userID: binding.userID, sessionID: try row.decode(1) ? binding.sessionID : nil)
            tombstones.installations[logout] = try row.decode(2, as: Timestamp.self)
        }
        var choices = Dictionary(uniqueKeysWithValues: users.values.map { ($0, TopicChoices()) })
        for user in try results.removeFirst().map(RememberedUser.init) {
            guard let id = users[user.sha256] else { continue }
            tombstones.users[.init(app: app, userID: id)] = user.logout
            choices[id] = user.choices
        }
        for row in results.joined() { try decodeSession(row, into: &tombstones) }
        return (tombstones, choices)
    }

    private func decodeSession(_ row: PostgresRow, into tombstones: inout Tombstones) throws {
        let id = try SessionID(row.decode(0))
        let session = Tombstones.Session(app: app, sessionID: id)
        tombstones.endedSessions[session] = try row.decode(1, as: Timestamp?.self)
        tombstones.keptSessions[session] = try row.decode(2)
        guard let userID = try row.decode(3, as: [UInt8]?.self).flatMap({ users[$0] }) else { return }
        tombstones.leftSessions[.init(app: app, sessionID: id, userID: userID)] = try row.decode(4)
    }
}

/// The checks of users' JWTs within the transaction of a batch (R7).
struct CredentialChecks {
    private let app: AppNumber
    private var guards: RegistrationGuards
    private let items: [(index: Int, credential: UserCredential, key: InstallationKey?, memory: ISO8601Duration)]

    /// - Parameter batch: calls, each with its credential, the installation whose logouts also end it, and how long the
    ///   ends of sessions are remembered. No two are about the same installation.
    init(
        _ batch: [(credential: UserCredential?, key: InstallationKey?, memory: ISO8601Duration)], in app: AppNumber
    ) {
        self.app = app
        items = batch.enumerated().compactMap { index, call in
            call.credential.map { (index, $0, call.key, call.memory) }
        }
        guards = RegistrationGuards(in: app)
        for (_, credential, key, _) in items {
            guards.add(credential.owner, UserDigest.sha256(credential.owner.userID), on: key)
        }
    }

    var statements: [PostgresStatement] { items.isEmpty ? [] : guards.reads }

    /// The indices in the batch of the calls whose credential has ended.
    func refusals(_ results: ArraySlice<PostgresResult>, at now: Timestamp) throws -> Set<Int> {
        guard !items.isEmpty else { return [] }
        let tombstones = try guards.decode(results).tombstones
        let ended = items.filter { item in
            tombstones.hasEnded(item.credential, on: item.key, in: app, remembering: item.memory, at: now)
        }
        return Set(ended.map(\.index))
    }
}

extension PostgresUserStore {
    /// GET and DELETE of an installation by a user's JWT (R7): a read without locks.
    public func hasEnded(
        _ credential: UserCredential, on key: InstallationKey?, in app: AppNumber,
        remembering tombstones: ISO8601Duration
    ) async throws -> Bool {
        try await resources.storing(app) {
            let checks = CredentialChecks([(credential, key, tombstones)], in: app)
            let results = try await resources.postgres.read([RegistrationStatements.time()] + checks.statements)
            let now = try results[0][0].decode(0, as: Timestamp.self)
            return try !checks.refusals(results[1...], at: now).isEmpty
        }
    }
}

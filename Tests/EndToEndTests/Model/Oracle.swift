/// A second implementation of the rules R1 to R10 for one app: one call at a time, plain look-ups in dictionaries,
/// without locks, batches, indexes or digests. It shares no code with the product.
///
/// It models the promises, not the implementation. It has no clock: it takes the service's times from the responses,
/// and checks that they lie between the sending of a call and its response.
struct Oracle: Hashable, Sendable {
    /// The state of an installation.
    struct Phone: Hashable, Sendable {
        var provider: String
        var token: String?
        var user: String?
        var session: String?
        var expiresAt: Int64?
        /// The `iat` of the credential that set the owner.
        var issuedAt: Int64?
        var state: String
        var generation: Int64
        var registrationGeneration: Int64
        var replacedBy: String?
        var createdAt: Int64
        var registeredAt: Int64
        var seenAt: Int64
        var snapshot: ModelSnapshot
        var snapshots = 1
        /// The tokens beside the main one, each with the provider of its environment.
        var typed: [String: String] = [:]
    }

    struct Event: Hashable, Sendable {
        let kind: String
        let reason: String
        let actor: String
        let provider: String
        /// The token itself; the service stores a digest.
        let token: String?
        var user: String?
        var previousUser: String?
        let state: String
        let before: Int64
        let after: Int64
    }

    struct Session: Hashable, Sendable {
        /// Nil for a session that was ended before it was seen.
        var user: String?
        var endedAt: Int64?
        /// The number of the user's logout that kept it.
        var keptBy: Int?
    }

    /// A user's logout of one installation, with a session or without.
    struct InstallationLogout: Hashable, Sendable {
        let phone: String
        let user: String
        let session: String?
    }

    /// The actor in history for each of a test's credentials.
    struct Actors: Hashable, Sendable {
        let service: String
        let client: String
        let jwt: String
        let sender: String

        func name(_ credential: ModelCredential) -> String {
            switch credential {
            case .service: service
            case .jwt: jwt
            case .publishableKey: client
            }
        }
    }

    static let touchInterval: Int64 = 24 * 3_600 * 1_000_000
    /// `sessionTombstones` of the app's policy.
    static let tombstones: Int64 = (70 * 3_600 + 1_800) * 1_000_000

    /// By how much the clocks of an issuer and of the database may differ.
    static let leeway: Int64 = 30_000_000

    let actors: Actors
    var phones: [String: Phone] = [:]
    /// The user of each kept snapshot of an installation, the newest last.
    var snapshotUsers: [String: [String?]] = [:]
    /// Who registered each phone last, calls that change nothing aside; nil without a user, or after an erasure.
    var registrants: [String: String] = [:]
    /// The events; they remain when the installation is deleted.
    var history: [String: [Event]] = [:]
    var sessions: [String: Session] = [:]
    /// When all sessions of a user were ended.
    var refusedBefore: [String: Int64] = [:]
    /// How often.
    var refusals: [String: Int] = [:]
    var logouts: [InstallationLogout: Int64] = [:]
    init(actors: Actors) {
        self.actors = actors
    }

    /// The expected response.
    struct Response: Hashable, Sendable {
        let status: Int
        /// The checked members of the body.
        var members: [String: ModelValue] = [:]

        init(_ status: Int, _ members: [String: ModelValue] = [:]) {
            self.status = status
            self.members = members
        }

        static let unknownInstallation = Response(404, ["code": .text("unknown-installation")])

        static let endedCredential = Response(401, ["code": .text("credential-ended")])

        static func outdated(_ generation: Int64?) -> Response {
            Response(412, ["code": .text("outdated"), "generation": generation.map { .number($0) } ?? .absent])
        }
    }

    /// The time of a call on the service's clock. It lies between two readings of the client's clock, which is the
    /// same.
    struct Moment: Hashable, Sendable {
        let sent: Int64
        let received: Int64
        /// The latest time before the clock was set back.
        var latest: Int64 = 0
        /// `lastSeenAt` and the generation, if the response has them.
        var seenAt: Int64?
        var generation: Int64?

        /// The time of a registration that was executed now. An impossible one becomes 0, which matches no response.
        var registrationTime: Int64 {
            seenAt.map { (sent...max(received, latest)).contains($0) ? $0 : 0 } ?? 0
        }
    }

    /// Executes a call.
    mutating func execute(_ call: ModelCall, at moment: Moment) -> Response {
        switch call {
        case .register(let registration): register(registration, at: moment)
        case .read(let phone, let credential): read(phone, by: credential, at: moment)
        case .list(let user): list(user)
        case .remove(let phone, let credential, let ifMatch): remove(phone, by: credential, ifMatch, at: moment)
        case .logOut(let phone, let credential, let keepsAnonymous, let ifMatch):
            logOut(phone, by: credential, keepsAnonymous: keepsAnonymous, ifMatch, at: moment)
        case .endSession(let session): endSession(session, at: moment)
        case .logOutUser(let user, let kept): logOutUser(user, except: kept, at: moment)
        case .erase(let user): erase(user, at: moment)
        case .feedback(let items): judge(items, at: moment)
        case .expire(let phone): expire(phone, at: moment)
        }
    }

    /// Simulates a pause: makes everything older.
    mutating func age(by microseconds: Int64) {
        for id in phones.keys { phones[id]?.age(by: microseconds) }
        for id in sessions.keys { sessions[id]?.endedAt? -= microseconds }
        for user in refusedBefore.keys { refusedBefore[user]? -= microseconds }
        for logout in logouts.keys { logouts[logout]? -= microseconds }
    }

    /// Takes the stored times of ends.
    mutating func adopt(_ times: ModelTables.EndTimes) {
        for (user, time) in times.users where refusedBefore[user] != nil { refusedBefore[user] = time }
        for (logout, time) in times.logouts where logouts[logout] != nil { logouts[logout] = time }
        for (session, time) in times.sessions where sessions[session]?.endedAt != nil {
            sessions[session]?.endedAt = time
        }
    }

    /// Records an event.
    mutating func record(
        _ kind: String, _ reason: String, by actor: String, _ phone: String, from before: Phone?, to after: Phone,
        previousUser: String?
    ) {
        history[phone, default: []].append(
            Event(
                kind: kind, reason: reason, actor: actor, provider: after.provider, token: after.token ?? before?.token,
                user: after.user, previousUser: previousUser, state: after.state, before: before?.generation ?? 0,
                after: after.generation))
    }
}

extension Oracle.Phone {
    fileprivate mutating func age(by microseconds: Int64) {
        createdAt -= microseconds
        registeredAt -= microseconds
        seenAt -= microseconds
        issuedAt? -= microseconds
    }
}

/// A member of a response.
enum ModelValue: Hashable, Sendable {
    case text(String?)
    case number(Int64)
    case flag(Bool)
    case texts([String])

    static let absent = ModelValue.text(nil)
}

extension Int64 {
    /// `iat` has whole seconds.
    func isInEarlierSecond(than other: Int64) -> Bool { self / 1_000_000 < other / 1_000_000 }
}

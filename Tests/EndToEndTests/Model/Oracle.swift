/// The rules R1 to R10 of one app, told a second time: for one caller at a time, by plain look-ups in dictionaries,
/// without locks, batches, indexes or digests. It shares no code with the product.
///
/// A model of what is promised, not of how it is done. It knows no clock: what the service read off its own is taken
/// from the answers, and held to lie between the sending of a call and its answer.
struct Oracle: Hashable, Sendable {
    /// What is known of an installation.
    struct Phone: Hashable, Sendable {
        var provider: String
        var token: String?
        var user: String?
        var session: String?
        var expiresAt: Int64?
        /// Of the credential that began the binding.
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
    }

    struct Event: Hashable, Sendable {
        let kind: String
        let reason: String
        let actor: String
        let provider: String
        /// The token itself, where the service keeps a digest.
        let token: String?
        var user: String?
        var previousUser: String?
        let state: String
        let before: Int64
        let after: Int64
    }

    struct Session: Hashable, Sendable {
        /// Nil for one that was ended without having been seen.
        var user: String?
        var endedAt: Int64?
        var keptAt: Int64?
    }

    /// A user's logout of one installation, with a session or without.
    struct Farewell: Hashable, Sendable {
        let phone: String
        let user: String
        let session: String?
    }

    /// Whom history names for each of a test's credentials.
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
    /// Of the app's policy.
    static let tombstones: Int64 = (70 * 3_600 + 1_800) * 1_000_000

    let actors: Actors
    var phones: [String: Phone] = [:]
    /// Of each snapshot that is kept of an installation, the newest last: who it was taken of.
    var snapshotUsers: [String: [String?]] = [:]
    /// Outlives its installation.
    var history: [String: [Event]] = [:]
    var sessions: [String: Session] = [:]
    /// When all sessions of a user were ended.
    var refusedBefore: [String: Int64] = [:]
    var farewells: [Farewell: Int64] = [:]

    init(actors: Actors) {
        self.actors = actors
    }

    /// What is to be answered.
    struct Answer: Hashable, Sendable {
        let status: Int
        /// Members of the body that are promised.
        var members: [String: ModelValue] = [:]

        init(_ status: Int, _ members: [String: ModelValue] = [:]) {
            self.status = status
            self.members = members
        }

        static let unknownInstallation = Answer(404, ["code": .text("unknown-installation")])

        static let endedCredential = Answer(401, ["code": .text("credential-ended")])

        static func outdated(_ generation: Int64?) -> Answer {
            Answer(412, ["code": .text("outdated"), "generation": generation.map { .number($0) } ?? .absent])
        }
    }

    /// What the service's clock may have said: it is known to lie between two readings of the client's, which is the
    /// same clock.
    struct Moment: Hashable, Sendable {
        let sent: Int64
        let answered: Int64
        /// When the service saw the installation last, and the generation, where the answer tells them.
        var seenAt: Int64?
        var generation: Int64?

        /// The time of a registration that was carried out now. One that cannot be becomes one that nobody answers.
        var registrationTime: Int64 {
            seenAt.map { (sent...answered).contains($0) ? $0 : 0 } ?? 0
        }
    }

    /// Carries out a call; alone, and at once.
    mutating func carryOut(_ call: ModelCall, at moment: Moment) -> Answer {
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
        }
    }

    /// Lets time go by: everything was so much longer ago.
    mutating func age(by microseconds: Int64) {
        for id in phones.keys { phones[id]?.age(by: microseconds) }
        for id in sessions.keys {
            sessions[id]?.endedAt? -= microseconds
            sessions[id]?.keptAt? -= microseconds
        }
        for user in refusedBefore.keys { refusedBefore[user]? -= microseconds }
        for farewell in farewells.keys { farewells[farewell]? -= microseconds }
    }

    /// Tells a step of an installation.
    mutating func tell(
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

/// A member of an answer.
enum ModelValue: Hashable, Sendable {
    case text(String?)
    case number(Int64)
    case flag(Bool)
    case texts([String])

    static let absent = ModelValue.text(nil)
}

extension Int64 {
    /// Credentials tell their time in whole seconds.
    func isInEarlierSecond(than other: Int64) -> Bool { self / 1_000_000 < other / 1_000_000 }
}

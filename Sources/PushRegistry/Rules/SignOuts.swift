/// What the registry remembers of logouts, as far as it concerns one batch of registrations, and the rule that a session
/// that ended stays ended (R7).
///
/// Complete for every registration of the batch that begins a binding: whoever loads it holds the locks that ending one
/// of these sessions needs.
public struct SignOuts: Sendable {
    /// A user of an app.
    public struct User: Hashable, Sendable {
        public let app: AppNumber
        public let userID: UserID

        public init(app: AppNumber, userID: UserID) {
            self.app = app
            self.userID = userID
        }
    }

    /// A session of an app.
    public struct Session: Hashable, Sendable {
        public let app: AppNumber
        public let sessionID: SessionID

        public init(app: AppNumber, sessionID: SessionID) {
            self.app = app
            self.sessionID = sessionID
        }
    }

    /// One user's logout of one installation; without a session it concerns credentials by their age.
    public struct OnInstallation: Hashable, Sendable {
        public let key: InstallationKey
        public let userID: UserID
        public let sessionID: SessionID?

        public init(key: InstallationKey, userID: UserID, sessionID: SessionID?) {
            self.key = key
            self.userID = userID
            self.sessionID = sessionID
        }
    }

    /// When all sessions of a user were ended.
    public var users: [User: Timestamp] = [:]
    /// Sessions that were ended, wherever they register.
    public var endedSessions: Set<Session> = []
    /// When a user's other sessions were ended and this one was excepted.
    public var keptSessions: [Session: Timestamp] = [:]
    public var installations: [OnInstallation: Timestamp] = [:]

    public init() {}

    /// Whether the registration comes from a session that has ended, or with a credential from before a logout.
    func forbid(_ registration: Registration) -> Bool {
        guard let owner = registration.owner else { return false }
        return hasEnded(owner, registration) || isFromBeforeLogout(owner, registration)
    }

    private func hasEnded(_ owner: Owner, _ registration: Registration) -> Bool {
        guard let session = owner.session else { return false }
        let logout = OnInstallation(key: registration.key, userID: owner.userID, sessionID: session.id)
        return installations[logout] != nil
            || endedSessions.contains(Session(app: registration.key.app, sessionID: session.id))
    }

    /// A credential says to the second when it was issued; one without that is not protected.
    private func isFromBeforeLogout(_ owner: Owner, _ registration: Registration) -> Bool {
        guard let issuedAt = registration.credentialIssuedAt else { return false }
        let here = OnInstallation(key: registration.key, userID: owner.userID, sessionID: nil)
        if let logout = installations[here], issuedAt.isInEarlierSecond(than: logout) { return true }
        let app = registration.key.app
        guard let logout = users[User(app: app, userID: owner.userID)], issuedAt.isInEarlierSecond(than: logout) else {
            return false
        }
        let kept = owner.session.flatMap { keptSessions[Session(app: app, sessionID: $0.id)] }
        return kept.map { $0 < logout } ?? true
    }
}

extension Timestamp {
    /// Whether this lies in an earlier second, as a claim of whole seconds tells it.
    func isInEarlierSecond(than other: Timestamp) -> Bool {
        microseconds.secondsRoundedDown < other.microseconds.secondsRoundedDown
    }
}

extension Int64 {
    fileprivate var secondsRoundedDown: Int64 { (self - (self % 1_000_000 + 1_000_000) % 1_000_000) / 1_000_000 }
}

/// The tombstones that concern one batch of registrations, and the rule that an ended session stays ended (R7).
///
/// It has all tombstones of every owner in the batch. The loading transaction holds the locks that a logout of these
/// users and sessions needs, so none can be added meanwhile.
public struct Tombstones: Sendable {
    /// A user of an app.
    public struct User: Hashable, Sendable {
        public let app: AppNumber
        public let userID: UserID

        public init(app: AppNumber, userID: UserID) {
            (self.app, self.userID) = (app, userID)
        }
    }

    /// A session of an app.
    public struct Session: Hashable, Sendable {
        public let app: AppNumber
        public let sessionID: SessionID

        public init(app: AppNumber, sessionID: SessionID) {
            (self.app, self.sessionID) = (app, sessionID)
        }
    }

    /// A session with the user with whom it was bound.
    public struct LeftSession: Hashable, Sendable {
        public let session: Session
        public let userID: UserID

        public init(app: AppNumber, sessionID: SessionID, userID: UserID) {
            session = Session(app: app, sessionID: sessionID)
            self.userID = userID
        }
    }

    /// A user's logout of one installation. Without a session, it ends the credentials that were issued before it.
    public struct OnInstallation: Hashable, Sendable {
        public let key: InstallationKey
        public let userID: UserID
        public let sessionID: SessionID?

        public init(key: InstallationKey, userID: UserID, sessionID: SessionID?) {
            (self.key, self.userID, self.sessionID) = (key, userID, sessionID)
        }
    }

    /// The end of all sessions of a user. Other events come before or after it by their numbers: its time may be that
    /// of a clock that was set since.
    public struct UserLogout: Hashable, Sendable {
        public let time: Timestamp
        public let number: Int64

        public init(time: Timestamp, number: Int64) {
            (self.time, self.number) = (time, number)
        }
    }

    /// The last end of all sessions of each user.
    public var users: [User: UserLogout] = [:]
    /// When sessions were ended on all installations.
    public var endedSessions: [Session: Timestamp] = [:]
    /// The number of the user's logout that excepted a session.
    public var keptSessions: [Session: Int64] = [:]
    /// The number of the transaction in which a session first left an installation, of a user whom the batch names. One
    /// that is merely bound is absent: the logout of its user ends it.
    public var leftSessions: [LeftSession: Int64] = [:]
    /// When users were logged out of installations.
    public var installations: [OnInstallation: Timestamp] = [:]

    public init() {}

    /// Whether the registration's session has ended, or its credential was issued before a logout.
    func forbids(_ registration: Registration, at now: Timestamp) -> Bool {
        guard let owner = registration.owner else { return false }
        let credential = UserCredential(owner: owner, issuedAt: registration.credentialIssuedAt)
        return hasEnded(
            credential, on: registration.key, in: registration.key.app, remembering: registration.sessionTombstones,
            at: now)
    }

    /// Whether the credential's session has ended, or the credential was issued before a logout.
    ///
    /// - Parameters:
    ///   - key: the installation of the call: logouts of it count as well. Nil for a call of none.
    ///   - tombstones: how long tombstones are kept; older logouts do not count.
    public func hasEnded(
        _ credential: UserCredential, on key: InstallationKey?, in app: AppNumber,
        remembering tombstones: ISO8601Duration, at now: Timestamp
    ) -> Bool {
        let isRemembered = { (logout: Timestamp) in now < logout.advanced(by: tombstones) }
        return sessionEnds(of: credential.owner, on: key, in: app).contains(where: isRemembered)
            || logouts(after: credential, on: key, in: app, at: now).contains(where: isRemembered)
    }

    /// When the session was ended: on this installation, on all installations, or with all of the user's sessions.
    private func sessionEnds(of owner: Owner, on key: InstallationKey?, in app: AppNumber) -> [Timestamp] {
        guard let session = owner.session else { return [] }
        let here = key.flatMap { installations[.init(key: $0, userID: owner.userID, sessionID: session.id)] }
        let everywhere = Session(app: app, sessionID: session.id)
        let withUser = logout(of: owner, in: app).flatMap { logout in
            leftSessions[.init(app: app, sessionID: session.id, userID: owner.userID)]
                .flatMap { $0 < logout.number ? logout.time : nil }
        }
        return [here, endedSessions[everywhere], withUser].compactMap(\.self)
    }

    /// The end of all sessions of the user, unless this one was excepted.
    private func logout(of owner: Owner, in app: AppNumber) -> UserLogout? {
        let kept = owner.session.flatMap { keptSessions[Session(app: app, sessionID: $0.id)] }
        return users[User(app: app, userID: owner.userID)].flatMap { logout in
            kept.map { $0 < logout.number } ?? true ? logout : nil
        }
    }

    /// The logouts that may have come after the credential was issued, if the issuer's clock was ahead by the leeway;
    /// empty for a credential without `iat`. A logout in the future has the time of a clock that was wrong: it would
    /// refuse every sign-in until then.
    private func logouts(
        after credential: UserCredential, on key: InstallationKey?, in app: AppNumber, at now: Timestamp
    ) -> [Timestamp] {
        guard let issuedAt = credential.issuedAt(receivedAt: now) else { return [] }
        let leeway = UserCredential.leeway
        let owner = credential.owner
        let here = key.flatMap { installations[.init(key: $0, userID: owner.userID, sessionID: nil)] }
        return [here, logout(of: owner, in: app)?.time].compactMap(\.self).filter {
            issuedAt.isInEarlierSecond(than: $0.advanced(by: leeway)) && $0 <= now.advanced(by: leeway)
        }
    }
}

/// The claims of a user's JWT: user and session, and its `iat` if it has one.
public struct UserCredential: Hashable, Sendable {
    /// By how much the clocks of an issuer and of the database may differ.
    public static let leeway = ISO8601Duration(seconds: 30)

    public let owner: Owner
    public let issuedAt: Timestamp?

    public init(owner: Owner, issuedAt: Timestamp?) {
        (self.owner, self.issuedAt) = (owner, issuedAt)
    }

    /// When the credential was issued at the latest (fine print 16): one from the future comes from a clock that is
    /// ahead, so it counts as issued before its receipt by the leeway.
    func issuedAt(receivedAt now: Timestamp) -> Timestamp? {
        issuedAt.map { $0 > now ? now.preceding(by: Self.leeway) : $0 }
    }
}

extension Timestamp {
    /// Whether this lies in an earlier second: `iat` has whole seconds.
    func isInEarlierSecond(than other: Timestamp) -> Bool {
        microseconds.secondsRoundedDown < other.microseconds.secondsRoundedDown
    }
}

extension Int64 {
    fileprivate var secondsRoundedDown: Int64 { (self - (self % 1_000_000 + 1_000_000) % 1_000_000) / 1_000_000 }
}

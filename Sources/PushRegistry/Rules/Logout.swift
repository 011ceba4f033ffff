/// What a caller asks for by `POST …/installations/{installId}/logout` (R6).
public struct Logout: Sendable {
    /// On whose behalf.
    public enum Requester: Hashable, Sendable {
        /// A user, proven by a JWT or named by the app's back end. A credential that tells when it was issued is not to
        /// undo what a later one did.
        case user(Owner, credentialIssuedAt: Timestamp?)
        /// The app's back end. It may log any user out.
        case service
        /// A client with nothing but the app's publishable key.
        case anonymous
    }

    public enum Status: String, Sendable {
        case loggedOut, alreadyLoggedOut, outdated
    }

    /// Why a logout was refused; nothing was changed.
    public enum Refusal: Error, Hashable, Sendable {
        case notFound
        /// The publishable key proves nobody: an owned installation takes the present generation besides.
        case unproven
    }

    /// What is to be done.
    public struct Decision: Sendable {
        public let status: Status
        /// The installation as it is to be; nil where it stays.
        public internal(set) var after: Installation?
        /// What history gains; a late logout is recorded though it changes nothing.
        public internal(set) var event: TokenEvent?
        /// R7: what no delayed registration may revive.
        public internal(set) var signOuts: [SignOuts.OnInstallation]
        /// The generation after it; nil if the caller may not read the record.
        public let generation: Int64?
    }

    public let key: InstallationKey
    public let requester: Requester
    /// Who gets the answer: `outdated` shows the generation only to a caller that may read the record.
    public let reader: PushRegistry.Requester
    public let keepsAnonymous: Bool
    public let precondition: Precondition?
    /// Who asked: the role and the key's id, never the user.
    public let actor: String

    /// - Parameter reader: the requester, unless the app's back end acts for a user.
    public init(
        key: InstallationKey, requester: Requester, reader: PushRegistry.Requester? = nil, keepsAnonymous: Bool,
        precondition: Precondition?, actor: String
    ) {
        self.key = key
        self.requester = requester
        self.reader = reader ?? requester.reader
        self.keepsAnonymous = keepsAnonymous
        self.precondition = precondition
        self.actor = actor
    }

    /// Decides on the installation as it is, locked.
    public func decision(on present: Installation?, at now: Timestamp) throws(Refusal) -> Decision {
        guard let present else { return try decisionOnUnknown() }
        guard let owner = present.owner else { return decisionOnUnbound(present, at: now) }
        if requester == .anonymous, !namesGeneration(of: present) { throw .unproven }
        guard isAbout(owner, of: present), precondition?.holds(for: present.generation) ?? true else {
            return outdated(present, at: now)
        }
        return act(on: present, at: now)
    }

    /// Only the app's back end learns that there is no such installation. Other callers get the same answer as for
    /// another user's installation.
    private func decisionOnUnknown() throws(Refusal) -> Decision {
        if reader == .service { throw .notFound }
        if requester == .anonymous { throw .unproven }
        return Decision(status: .outdated, after: nil, event: nil, signOuts: [], generation: nil)
    }

    /// Nobody's installation. Who names a user has what they ask for; who names none closes it.
    private func decisionOnUnbound(_ present: Installation, at now: Timestamp) -> Decision {
        if case .user = requester { return unchanged(present, .alreadyLoggedOut, signOuts(of: nil)) }
        guard present.state == .active, !keepsAnonymous else { return unchanged(present, .alreadyLoggedOut, []) }
        guard precondition?.holds(for: present.generation) ?? true else { return outdated(present, at: now) }
        return act(on: present, at: now)
    }

    /// `*` proves nothing: only who was told the generation knows it.
    private func namesGeneration(of present: Installation) -> Bool {
        if case .generation = precondition { return precondition?.holds(for: present.generation) ?? false }
        return false
    }

    /// Whether the binding is the one that the requester means. One that a later credential made is not.
    private func isAbout(_ bound: Owner, of present: Installation) -> Bool {
        guard case .user(let owner, let issuedAt) = requester else { return true }
        guard owner.userID == bound.userID else { return false }
        if let session = owner.session { return session.id == bound.session?.id }
        guard let issuedAt, let boundIssuedAt = present.credentialIssuedAt else { return true }
        return !issuedAt.isInEarlierSecond(than: boundIssuedAt)
    }

    private func act(on present: Installation, at now: Timestamp) -> Decision {
        let after = present.unbound(keepingActive: keepsAnonymous, at: now)
        let event = TokenEvent(
            .loggedOut, .loggedOut, by: actor, at: present.notBefore(now), from: present, to: after,
            previousUserID: present.owner?.userID)
        return Decision(
            status: .loggedOut, after: after, event: event, signOuts: signOuts(of: present.owner),
            generation: after.generation)
    }

    private func outdated(_ present: Installation, at now: Timestamp) -> Decision {
        var decision = Decision(
            status: .outdated, after: nil, event: nil, signOuts: signOutsOfSuperseded(by: present.owner),
            generation: reader.visibleGeneration(of: present))
        decision.event = TokenEvent(
            .logoutIgnored, .outdatedLogout, by: actor, at: present.notBefore(now), from: present, to: present,
            previousUserID: present.owner?.userID)
        return decision
    }

    private func unchanged(
        _ present: Installation, _ status: Status, _ signOuts: [SignOuts.OnInstallation]
    ) -> Decision {
        Decision(status: status, after: nil, event: nil, signOuts: signOuts, generation: present.generation)
    }

    /// The binding that ends and the one that the requester names, which for an unbound installation is all there is.
    private func signOuts(of bound: Owner?) -> [SignOuts.OnInstallation] {
        var owners = bound.map { [$0] } ?? []
        if case .user(let owner, _) = requester, !owner.isSame(as: bound) { owners.append(owner) }
        return owners.map { SignOuts.OnInstallation(key: key, userID: $0.userID, sessionID: $0.session?.id) }
    }

    /// A late logout still ends its own session here, unless that is the one that is bound (and went on since). Without
    /// a session it concerns all of the user's credentials from before, and so nothing while the user is bound by a
    /// later one.
    private func signOutsOfSuperseded(by bound: Owner?) -> [SignOuts.OnInstallation] {
        guard case .user(let owner, _) = requester else { return [] }
        let isOver = owner.session == nil ? owner.userID != bound?.userID : !owner.isSame(as: bound)
        return isOver ? [SignOuts.OnInstallation(key: key, userID: owner.userID, sessionID: owner.session?.id)] : []
    }
}

extension Logout.Requester {
    fileprivate var reader: Requester {
        switch self {
        case .user(let owner, _): .user(owner.userID)
        case .service: .service
        case .anonymous: .anonymous
        }
    }
}

extension Installation {
    /// The same installation without an owner: not reachable, unless it goes on anonymously. What was not active stays
    /// in its state, which says more than that it was logged out as well.
    func unbound(keepingActive: Bool = false, at now: Timestamp) -> Installation {
        var after = self
        after.owner = nil
        after.credentialIssuedAt = nil
        after.generation += 1
        if state == .active, !keepingActive {
            after.state = .loggedOut
            after.stateChangedAt = notBefore(now)
        }
        return after
    }
}

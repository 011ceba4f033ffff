/// The logout of an installation: `POST …/installations/{installId}/logout` (R6).
public struct Logout: Sendable {
    /// The user or service that logs out.
    public enum Initiator: Hashable, Sendable {
        /// A user, proven by a JWT or named by the app's back end. A logout with an older credential cannot undo a
        /// later sign-in.
        case user(Owner, credentialIssuedAt: Timestamp?)
        /// The app's back end. It may log out any user.
        case service
        /// A client that has only the app's publishable key.
        case anonymous
    }

    public enum Status: String, Sendable {
        case loggedOut, alreadyLoggedOut, outdated
    }

    /// Why a logout was refused. Nothing was changed.
    public enum Refusal: Error, Hashable, Sendable {
        case notFound
        /// The publishable key logs out the installation of a user only with the present delivery key.
        case unproven
    }

    /// The effect of a logout.
    public struct Decision: Sendable {
        public let status: Status
        /// The installation after the logout; nil if it does not change.
        public internal(set) var after: Installation?
        /// The event to record. A late logout has one although it changes nothing.
        public internal(set) var event: TokenEvent?
        /// R7: the tombstones to write, so that no late registration revives the session.
        public internal(set) var tombstones: [Tombstones.OnInstallation]
        /// The generation after the logout; nil if the caller may not read the record.
        public let generation: Int64?
    }

    public let key: InstallationKey
    public let requester: Initiator
    /// The caller that gets the response: `outdated` shows the generation only to a caller that may read the record.
    public let reader: Requester
    public let keepsAnonymous: Bool
    public let precondition: Precondition?
    /// The delivery key of an anonymous initiator.
    public let proof: DeliveryProof?
    /// The app's topics.
    public let catalogue: TopicCatalogue
    /// The caller's role and key id, never the user.
    public let actor: String

    /// - Parameter reader: the requester, unless the app's back end acts for a user.
    public init(
        key: InstallationKey, requester: Initiator, reader: Requester? = nil, keepsAnonymous: Bool,
        precondition: Precondition?, proof: DeliveryProof? = nil, catalogue: TopicCatalogue = TopicCatalogue(),
        actor: String
    ) {
        (self.key, self.requester) = (key, requester)
        self.reader = reader ?? requester.reader
        (self.keepsAnonymous, self.precondition, self.proof) = (keepsAnonymous, precondition, proof)
        (self.catalogue, self.actor) = (catalogue, actor)
    }

    /// - Parameter present: the locked row; nil if it does not exist.
    public func decision(on present: Installation?, at now: Timestamp) throws(Refusal) -> Decision {
        if requester == .anonymous, let proof, !proof.holds(for: present, at: now) { throw .unproven }
        guard let present else { return try decisionOnUnknown() }
        guard let owner = present.owner else { return decisionOnUnbound(present, at: now) }
        if requester == .anonymous, proof == nil { throw .unproven }
        guard isAbout(owner, of: present), precondition?.holds(for: present.generation) ?? true else {
            return outdated(present, at: now)
        }
        return act(on: present, at: now)
    }

    /// Only the app's back end learns that the installation does not exist. Other callers get the same response as for
    /// another user's installation.
    private func decisionOnUnknown() throws(Refusal) -> Decision {
        if reader == .service { throw .notFound }
        if requester == .anonymous { throw .unproven }
        return Decision(status: .outdated, after: nil, event: nil, tombstones: [], generation: nil)
    }

    /// An installation without an owner: a logout that names a user is already done, one that names none sets the state
    /// `loggedOut`.
    private func decisionOnUnbound(_ present: Installation, at now: Timestamp) -> Decision {
        if case .user = requester { return unchanged(present, .alreadyLoggedOut, tombstones(of: nil)) }
        guard present.state == .active, !keepsAnonymous else { return unchanged(present, .alreadyLoggedOut, []) }
        guard precondition?.holds(for: present.generation) ?? true else { return outdated(present, at: now) }
        return act(on: present, at: now)
    }

    /// Whether the requester means the current owner and session. A sign-in with a later credential is not meant.
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
            status: .loggedOut, after: after, event: event, tombstones: tombstones(of: present.owner),
            generation: after.generation)
    }

    private func outdated(_ present: Installation, at now: Timestamp) -> Decision {
        var decision = Decision(
            status: .outdated, after: nil, event: nil, tombstones: tombstonesOfSuperseded(by: present.owner),
            generation: reader.visibleGeneration(of: present))
        decision.event = TokenEvent(
            .logoutIgnored, .outdatedLogout, by: actor, at: present.notBefore(now), from: present, to: present,
            previousUserID: present.owner?.userID)
        return decision
    }

    private func unchanged(
        _ present: Installation, _ status: Status, _ tombstones: [Tombstones.OnInstallation]
    ) -> Decision {
        Decision(status: status, after: nil, event: nil, tombstones: tombstones, generation: present.generation)
    }

    /// Tombstones for the current owner and, if they differ, for the user and session that the requester names.
    private func tombstones(of bound: Owner?) -> [Tombstones.OnInstallation] {
        var owners = bound.map { [$0] } ?? []
        if case .user(let owner, _) = requester, !owner.isSame(as: bound) { owners.append(owner) }
        return owners.map { Tombstones.OnInstallation(key: key, userID: $0.userID, sessionID: $0.session?.id) }
    }

    /// A late logout still ends its own session on this installation, unless the installation is in that session now.
    /// A logout without a session ends the credentials that were issued before it. If the user has signed in again
    /// since, it does nothing.
    private func tombstonesOfSuperseded(by bound: Owner?) -> [Tombstones.OnInstallation] {
        guard case .user(let owner, _) = requester else { return [] }
        let isOver = owner.session == nil ? owner.userID != bound?.userID : !owner.isSame(as: bound)
        return isOver ? [Tombstones.OnInstallation(key: key, userID: owner.userID, sessionID: owner.session?.id)] : []
    }
}

extension Logout.Initiator {
    fileprivate var reader: Requester {
        switch self {
        case .user(let owner, _): .user(owner.userID)
        case .service: .service
        case .anonymous: .anonymous
        }
    }
}

extension Installation {
    /// The same installation without an owner. It becomes `loggedOut` unless it stays active anonymously. A state other
    /// than `active` remains: it is more specific than `loggedOut`.
    func unbound(keepingActive: Bool = false, at now: Timestamp) -> Installation {
        var after = self
        if owner != nil {
            after.topicChoices = TopicChoices()
            after.topics = TopicChoices()
        }
        after.owner = nil
        after.credentialIssuedAt = nil
        after.generation += 1
        after.beginEpoch()
        if state == .active, !keepingActive {
            after.state = .loggedOut
            after.stateChangedAt = notBefore(now)
        }
        return after
    }
}

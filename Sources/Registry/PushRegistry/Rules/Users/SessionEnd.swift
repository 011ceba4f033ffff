/// The end of one session (`DELETE …/sessions/{id}`) or of all sessions of a user (`POST …/users/{id}/logout`), R7.
public struct SessionEnd: Sendable {
    public enum Scope: Hashable, Sendable {
        /// One session, known or not.
        case session(SessionID)
        /// All sessions of a user, except one if it is named.
        case user(UserID, except: SessionID?)
    }

    public let app: AppNumber
    public let scope: Scope
    /// The app's topics.
    public let catalogue: TopicCatalogue
    /// The caller's role and key id, never the user.
    public let actor: String

    public init(app: AppNumber, scope: Scope, catalogue: TopicCatalogue = TopicCatalogue(), actor: String) {
        (self.app, self.scope, self.catalogue, self.actor) = (app, scope, catalogue, actor)
    }

    /// The change of a locked installation; nil if it is not in scope.
    public func outcome(for present: Installation, at now: Timestamp) -> (after: Installation, event: TokenEvent)? {
        guard let owner = present.owner, concerns(owner) else { return nil }
        let after = present.unbound(at: now)
        let event = TokenEvent(
            kind, reason, by: actor, at: present.notBefore(now), from: present, to: after, previousUserID: owner.userID)
        return (after, event)
    }

    /// The sessions in scope. They end with the user's logout even if another user was seen with them first.
    public func sessions(of installations: [Installation]) -> Set<SessionID> {
        Set(installations.compactMap(\.owner).filter(concerns).compactMap(\.session?.id))
    }

    private func concerns(_ owner: Owner) -> Bool {
        switch scope {
        case .session(let id): owner.session?.id == id
        case .user(let userID, let kept): owner.userID == userID && (kept == nil || owner.session?.id != kept)
        }
    }

    private var kind: EventKind {
        if case .session = scope { .sessionEnded } else { .loggedOut }
    }

    private var reason: TokenEvent.Reason {
        if case .session = scope { .sessionEnded } else { .userLoggedOut }
    }
}

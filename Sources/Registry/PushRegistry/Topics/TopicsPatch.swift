/// A change of choices: `PATCH …/installations/{installId}/topics` and `PATCH …/users/{userId}/topics`.
public struct TopicsPatch: Sendable {
    public let changes: [TopicChange]
    /// The catalogue that the changes were checked against.
    public let catalogue: TopicCatalogue
    /// The user and session of a JWT; nil for a key.
    public let credential: UserCredential?
    /// How long tombstones of ended sessions are kept.
    public let sessionTombstones: ISO8601Duration
    /// The caller's role and key id, never the user.
    public let actor: String

    public init(_ changes: [TopicChange], of app: App, credential: UserCredential?, actor: String) {
        self.changes = changes
        catalogue = app.topics
        self.credential = credential
        sessionTombstones = app.policy.sessionTombstones
        self.actor = actor
    }

    /// Why a patch was refused. Nothing was changed.
    public enum Refusal: Error, Hashable, Sendable {
        /// The installation does not exist, or belongs to another user.
        case notFound
        /// R7: a logout has ended the credential.
        case credentialEnded
    }

    /// The choices after the patch, and the topics whose choice changed. Choices about deleted topics are dropped
    /// without an event.
    public func applied(to choices: TopicChoices) -> (choices: TopicChoices, changed: [TopicSlug]) {
        var after = choices
        let changed = after.apply(changes)
        if !changed.isEmpty { after.removeDeleted(from: catalogue) }
        return (after, changed)
    }

    /// The installation after the patch, and its event; nil if nothing changes.
    ///
    /// - Parameters:
    ///   - present: the locked row; nil if it does not exist.
    ///   - inherited: the choices of its user.
    public func outcome(
        on present: Installation?, for requester: Requester, inheriting inherited: TopicChoices, at now: Timestamp
    ) throws(Refusal) -> (present: Installation, change: (after: Installation, event: TopicsEvent)?) {
        guard let present, requester.owns(installationOf: present.owner) else { throw .notFound }
        let (choices, changed) = applied(to: present.topicChoices)
        guard !changed.isEmpty else { return (present, nil) }
        var after = present
        after.topicChoices = choices
        after.topics = choices.over(inherited)
        let event = TopicsEvent(
            .installation(.init(after)), .topicsPatched, by: actor, at: present.notBefore(now), topics: changed)
        return (present, (after, event))
    }
}

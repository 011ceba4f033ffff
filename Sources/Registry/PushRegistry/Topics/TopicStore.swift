/// Stores the topics of apps, and the choices of users and installations. A result is durable (R15). A change of a
/// topic takes its entry of the audit, which it writes in its transaction.
///
/// - Throws: every call throws `StoreError`.
public protocol TopicStore: Sendable {
    /// Creates the topic or replaces its content. Its number and the choices about it stay.
    ///
    /// - Throws: `TopicRefusal.tooMany`.
    func put(
        _ slug: TopicSlug, _ content: Topic.Content, in app: AppNumber, recording entry: AuditEntry
    ) async throws -> (topic: Topic, isNew: Bool)

    /// Deletes a topic and the choices about it. It is idempotent.
    ///
    /// - Returns: whether there was one.
    /// - Throws: `TopicRefusal.inUse`.
    func delete(_ slug: TopicSlug, of app: AppNumber, recording entry: AuditEntry) async throws -> Bool

    /// The choices about an installation, and its owner; nil if it does not exist.
    func topics(of installation: InstallationKey) async throws -> (topics: ResolvedTopics, owner: UserID?)?

    /// The choices of a user; empty for an unknown user.
    func choices(of user: UserID, in app: AppNumber) async throws -> TopicChoices

    /// Changes the choices on an installation.
    ///
    /// - Returns: the choices after the change.
    /// - Throws: `TopicsPatch.Refusal`.
    func apply(
        _ patch: TopicsPatch, to installation: InstallationKey, for requester: Requester
    ) async throws -> ResolvedTopics

    /// Changes the choices of a user, for all of the user's installations.
    ///
    /// - Returns: the choices after the change.
    /// - Throws: `TopicsPatch.Refusal.credentialEnded`.
    func apply(_ patch: TopicsPatch, to user: UserID, in app: AppNumber) async throws -> TopicChoices
}

/// Why a topic was not changed.
public enum TopicRefusal: Error, Hashable, Sendable {
    /// A saved segment names it.
    case inUse
    /// The app has the largest number of topics already.
    case tooMany
}

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

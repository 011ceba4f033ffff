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

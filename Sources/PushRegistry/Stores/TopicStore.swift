/// Stores the topics of apps, and the choices of users and installations. A result is durable (R15).
///
/// - Throws: every call throws `StoreError`.
public protocol TopicStore: Sendable {
    /// Creates the topic or replaces its content. Its number and the choices about it stay.
    ///
    /// - Throws: `TopicRefusal.tooMany`.
    func put(_ slug: TopicSlug, _ content: Topic.Content, in app: AppNumber) async throws -> (topic: Topic, isNew: Bool)

    /// Deletes a topic and the choices about it. It is idempotent.
    ///
    /// - Returns: whether there was one.
    /// - Throws: `TopicRefusal.inUse`.
    func delete(_ slug: TopicSlug, of app: AppNumber) async throws -> Bool
}

/// Why a topic was not changed.
public enum TopicRefusal: Error, Hashable, Sendable {
    /// A saved segment names it.
    case inUse
    /// The app has the largest number of topics already.
    case tooMany
}

/// An event `topicsChanged`: choices about topics were changed, on an installation or of a user. An installation keeps
/// its generation. Choices that end with their owner's binding have no event of their own.
public struct TopicsEvent: Hashable, Sendable {
    public enum Subject: Hashable, Sendable {
        /// As it is after the change.
        case installation(Installation)
        case user(UserID)
    }

    public let subject: Subject
    public let reason: TokenEvent.Reason
    /// The caller's role and key id, never the user.
    public let actor: String
    public let at: Timestamp
    /// The topics whose choice changed.
    public let topics: [TopicSlug]

    public init(_ subject: Subject, _ reason: TokenEvent.Reason, by actor: String, at: Timestamp, topics: [TopicSlug]) {
        self.subject = subject
        self.reason = reason
        self.actor = actor
        self.at = at
        self.topics = topics
    }

    /// Nil for an event of a user.
    public var installation: Installation? {
        if case .installation(let installation) = subject { installation } else { nil }
    }

    public var userID: UserID? {
        switch subject {
        case .installation(let installation): installation.owner?.userID
        case .user(let userID): userID
        }
    }
}

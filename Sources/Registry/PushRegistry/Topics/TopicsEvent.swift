/// An event `topicsChanged`: choices about topics were changed, on an installation or of a user. An installation keeps
/// its generation.
public struct TopicsEvent: Hashable, Sendable {
    public enum Subject: Hashable, Sendable {
        case installation(Bearer)
        case user(UserID)
    }

    /// An installation as it is after the change.
    public struct Bearer: Hashable, Sendable {
        public let key: InstallationKey
        public let provider: Provider
        public let tokenSHA256: [UInt8]?
        public let userID: UserID?
        public let state: InstallationState
        public let generation: Int64

        init(_ installation: Installation) {
            (key, provider, tokenSHA256) = (installation.key, installation.provider, installation.tokenSHA256)
            (userID, state) = (installation.owner?.userID, installation.state)
            generation = installation.generation
        }

        init(_ event: TokenEvent) {
            (key, provider, tokenSHA256) = (event.key, event.provider, event.tokenSHA256)
            (userID, state, generation) = (event.userID, event.state, event.generationAfter)
        }
    }

    public let subject: Subject
    public let reason: TokenEvent.Reason
    /// The caller's role and key id, never the user.
    public let actor: String
    public let at: Timestamp
    /// The topics whose choice changed.
    public let topics: [TopicSlug]
    /// The user whose choices ended. An erasure of that user removes the topics.
    public let previousUserID: UserID?

    public init(
        _ subject: Subject, _ reason: TokenEvent.Reason, by actor: String, at: Timestamp, topics: [TopicSlug],
        previousUserID: UserID? = nil
    ) {
        (self.previousUserID, self.subject, self.reason, self.actor) = (previousUserID, subject, reason, actor)
        (self.at, self.topics) = (at, topics)
    }

    /// The event of choices that end with an owner's binding, or with a token (fine print 47, 50).
    ///
    /// - Parameters:
    ///   - end: of the binding.
    ///   - choices: before it.
    /// - Returns: nil if there were none about topics of the catalogue.
    public init?(_ end: TokenEvent, ending choices: TopicChoices, in catalogue: TopicCatalogue) {
        let topics = TopicChoices().changed(from: choices, in: catalogue)
        guard !topics.isEmpty else { return nil }
        self.init(
            .installation(Bearer(end)), .topicsReset, by: end.actor, at: end.at, topics: topics,
            previousUserID: end.previousUserID)
    }

    /// The same event of the installation's later state.
    func showing(_ installation: Installation) -> TopicsEvent {
        TopicsEvent(
            .installation(Bearer(installation)), reason, by: actor, at: at, topics: topics,
            previousUserID: previousUserID)
    }

    /// Nil for an event of a user.
    public var installation: Bearer? {
        if case .installation(let installation) = subject { installation } else { nil }
    }

    public var userID: UserID? {
        switch subject {
        case .installation(let installation): installation.userID
        case .user(let userID): userID
        }
    }
}

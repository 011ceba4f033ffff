/// Choices about topics at one level: a user's, or those on an installation. Every choice is kept, also one that equals
/// what would be inherited: it stays when the default changes.
public struct TopicChoices: Hashable, Sendable {
    /// True if the topic was chosen, false if it was left.
    private var choices: [TopicNumber: Bool] = [:]

    public init() {}

    /// - Parameter codes: topic numbers; a negative one for a topic that was left.
    public init(codes: [Int32]) {
        for code in codes { choices[TopicNumber(abs(code))] = code > 0 }
    }

    /// Topic numbers in ascending order; a negative one for a topic that was left.
    public var codes: [Int32] { choices.map { $1 ? $0.rawValue : -$0.rawValue }.sorted() }

    public var isEmpty: Bool { choices.isEmpty }
    public var count: Int { choices.count }

    /// Nil for no choice.
    public subscript(number: TopicNumber) -> Bool? { choices[number] }

    /// These choices, and the inherited ones about other topics.
    public func over(_ inherited: TopicChoices) -> TopicChoices {
        var merged = self
        merged.choices.merge(inherited.choices) { own, _ in own }
        return merged
    }

    /// Applies changes.
    ///
    /// - Returns: the topics whose choice is another one now, in the order of their slugs.
    public mutating func apply(_ changes: [TopicChange]) -> [TopicSlug] {
        var changed: [TopicSlug] = []
        for change in changes where choices[change.topic] != change.choice {
            choices[change.topic] = change.choice
            changed.append(change.slug)
        }
        return changed.sorted()
    }

    /// The topics whose choice differs from `before`, in the order of their slugs, without deleted topics.
    func changed(from before: TopicChoices, in catalogue: TopicCatalogue) -> [TopicSlug] {
        guard choices != before.choices else { return [] }
        return Set(choices.keys).union(before.choices.keys).filter { choices[$0] != before.choices[$0] }
            .compactMap { catalogue[$0]?.slug }.sorted()
    }

    /// Whether these changes change nothing.
    public func contain(_ changes: [TopicChange]) -> Bool {
        changes.allSatisfy { choices[$0.topic] == $0.choice }
    }

    /// Drops choices about deleted topics.
    public mutating func removeDeleted(from catalogue: TopicCatalogue) {
        choices = choices.filter { !catalogue.isDeleted($0.key) }
    }
}

/// A change of the choice about one topic.
public struct TopicChange: Hashable, Sendable {
    public let topic: TopicNumber
    public let slug: TopicSlug
    /// True to choose the topic, false to leave it, nil to return to what is inherited.
    public let choice: Bool?

    public init(_ topic: Topic, _ choice: Bool?) {
        self.topic = topic.number
        slug = topic.slug
        self.choice = choice
    }

    /// A registration is never refused for a choice: changes about unknown topics, and leaving a locked one, are
    /// ignored (fine print 49, 90).
    ///
    /// - Parameter choices: by slug.
    public static func tolerated(_ choices: [(slug: String, choice: Bool?)], in catalogue: TopicCatalogue)
        -> [TopicChange]
    {
        choices.compactMap { slug, choice in
            guard let topic = catalogue[slug], !(topic.content.isLocked && choice == false) else { return nil }
            return TopicChange(topic, choice)
        }
    }
}

/// A topic as a settings screen shows it.
public struct TopicSubscription: Hashable, Sendable {
    /// The level whose choice decides.
    public enum Origin: String, Sendable {
        case installation, user, `default`
    }

    public let topic: Topic
    public let isSubscribed: Bool
    public let origin: Origin
}

/// The choices that apply to an installation, or those of a user alone.
public struct ResolvedTopics: Hashable, Sendable {
    /// The choices on the installation; empty for a user.
    public let own: TopicChoices
    /// Both levels: `own`, and the user's choices about other topics.
    public let merged: TopicChoices

    public init(own: TopicChoices, merged: TopicChoices) {
        (self.own, self.merged) = (own, merged)
    }

    /// The choices of a user.
    public init(user: TopicChoices) {
        self.init(own: TopicChoices(), merged: user)
    }

    /// The whole catalogue, resolved: the installation decides, else the user, else the topic's default. A locked topic
    /// is subscribed, whatever was chosen.
    public func subscriptions(in catalogue: TopicCatalogue) -> [TopicSubscription] {
        catalogue.topics.map { topic in
            let choice = merged[topic.number]
            let isDecided = choice != nil && !topic.content.isLocked
            return TopicSubscription(
                topic: topic, isSubscribed: topic.isSubscribed(by: choice),
                origin: !isDecided ? .default : own[topic.number] != nil ? .installation : .user)
        }
    }
}

/// A subject of an app's pushes, such as `offers`. Users choose whether they get its pushes.
public struct Topic: Hashable, Sendable {
    public let number: TopicNumber
    public let slug: TopicSlug
    public let content: Content

    /// The members of a topic that a caller sets.
    public struct Content: Hashable, Sendable {
        /// The most Unicode scalars of each text.
        public static let textScalarsMax = 256

        /// The name that people read, 1 to 256 characters.
        public let name: String
        public let description: String?
        /// A settings screen shows the topics of one category together.
        public let category: String?
        /// Whether an installation without a choice is subscribed.
        public let isInByDefault: Bool
        /// Nobody can leave a locked topic.
        public let isLocked: Bool

        /// - Throws: `InvalidValue` with the code `locked-topic-is-out` for a locked topic that is out by default.
        public init(
            name: String, description: String?, category: String?, isInByDefault: Bool, isLocked: Bool
        ) throws(InvalidValue) {
            guard isInByDefault || !isLocked else {
                throw InvalidValue(code: "locked-topic-is-out", detail: "A locked topic must be in by default.")
            }
            (self.name, self.description, self.category) = (name, description, category)
            (self.isInByDefault, self.isLocked) = (isInByDefault, isLocked)
        }
    }

    public init(number: TopicNumber, slug: TopicSlug, content: Content) {
        (self.number, self.slug, self.content) = (number, slug, content)
    }

    /// Whether an installation with this choice is subscribed.
    ///
    /// - Parameter choice: nil without a choice.
    public func isSubscribed(by choice: Bool?) -> Bool {
        content.isLocked || (choice ?? content.isInByDefault)
    }
}

/// The store's number of a topic: positive, and never used for another topic.
public struct TopicNumber: Hashable, Comparable, Sendable {
    public let rawValue: Int32

    public init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    public static func < (left: TopicNumber, right: TopicNumber) -> Bool { left.rawValue < right.rawValue }
}

/// The public name of a topic, such as `offers`: 1 to 64 characters of `a-z 0-9 . _ -`. `.` and `..` are not allowed:
/// clients and proxies remove them from a path.
public struct TopicSlug: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-topic`.
    public init(_ text: String) throws(InvalidValue) {
        guard ASCII.isName(text, charactersMax: 64), text.utf8.allSatisfy({ ASCII.lowercased($0) == $0 }) else {
            throw InvalidValue(
                code: "invalid-topic", detail: "A topic is 1 to 64 characters of a-z 0-9 . _ - and neither . nor ..")
        }
        rawValue = text
    }

    public var description: String { rawValue }

    public static func < (left: TopicSlug, right: TopicSlug) -> Bool {
        left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }
}

/// All topics of an app at one version of the directory.
public struct TopicCatalogue: Hashable, Sendable {
    /// The most topics of one app.
    public static let topicsMax = 1_000

    /// All topics, in the order of their slugs.
    public let topics: [Topic]
    private let bySlug: [String: Topic]
    private let byNumber: [TopicNumber: Topic]
    private let newest: TopicNumber?

    public init(_ topics: [Topic] = []) {
        self.topics = topics.sorted { $0.slug < $1.slug }
        bySlug = Dictionary(uniqueKeysWithValues: topics.map { ($0.slug.rawValue, $0) })
        byNumber = Dictionary(uniqueKeysWithValues: topics.map { ($0.number, $0) })
        newest = topics.map(\.number).max()
    }

    /// - Parameter slug: any text.
    public subscript(slug: String) -> Topic? { bySlug[slug] }

    public subscript(number: TopicNumber) -> Topic? { byNumber[number] }

    /// Whether the topic was deleted. A number above all known numbers may belong to a topic that is newer than this
    /// version: an app's topics are created one after another, in the order of their numbers.
    public func isDeleted(_ number: TopicNumber) -> Bool {
        guard let newest else { return false }
        return number <= newest && byNumber[number] == nil
    }
}

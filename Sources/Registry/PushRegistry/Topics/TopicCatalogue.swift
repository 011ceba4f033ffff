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

import PushRegistry
import StrictJSON

/// A tag, channel or list of another system, which becomes a choice about a topic.
package struct ForeignTag: Hashable {
    package let name: String
    /// False if the installation has left the topic.
    var isChosen = true

    package init(name: String, isChosen: Bool = true) {
        (self.name, self.isChosen) = (name, isChosen)
    }

    /// The topic that it becomes: in lower case, with `-` for spaces. Nil for a name that no topic can have, such as an
    /// e-mail address.
    package var slug: TopicSlug? {
        let words = name.lowercased().split(whereSeparator: \.isWhitespace)
        return try? TopicSlug(words.joined(separator: "-"))
    }

    /// The tags of a JSON object of names and values whose value is true, 1, yes, false, 0 or no. Others are not
    /// topics.
    static func choices(in json: String) -> [ForeignTag] {
        guard let document = try? JSONDocument(Array(json.utf8)), document.root.kind == .object,
            let object = document.root.object()
        else { return [] }
        return object.members.compactMap { member in
            isChosen(member.value).map { ForeignTag(name: member.name, isChosen: $0) }
        }
    }

    private static func isChosen(_ value: JSONValue) -> Bool? {
        let text: String?
        switch value.kind {
        case .string: text = value.string(scalarsMax: Topic.Content.textScalarsMax)?.lowercased()
        case .number, .boolean: text = String(decoding: value.rawBytes, as: UTF8.self)
        case .array, .object, .null: text = nil
        }
        return switch text {
        case "true", "1", "yes": true
        case "false", "0", "no": false
        default: nil
        }
    }
}

/// The topics that the rows of a run name, each with its first name, and how many tags name it.
struct FoundTopics {
    /// More topics are not counted: an app cannot have so many anyway.
    private static let countedMax = 20 * TopicCatalogue.topicsMax

    private(set) var names: [TopicSlug: String] = [:]
    private var counts: [TopicSlug: Int] = [:]

    mutating func add(_ tags: [ForeignTag]) {
        for tag in tags {
            guard let slug = tag.slug, names[slug] != nil || names.count < Self.countedMax else { continue }
            counts[slug, default: 0] += 1
            guard names[slug] == nil else { continue }
            names[slug] = String(String.UnicodeScalarView(tag.name.unicodeScalars.prefix(Topic.Content.textScalarsMax)))
        }
    }

    /// The topics of the most tags, for a message.
    var mostFrequent: String {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.lazy
            .filter { NotUnderstood.printable($0.key.rawValue) != nil }.prefix(30)
            .map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", ")
    }
}

/// The catalogue of a run: the app's topics, and those that the run creates.
package struct ImportTopics {
    /// In a dry run, missing topics have numbers above all others.
    package private(set) var catalogue: TopicCatalogue
    /// The topics that the app does not have yet, in the order of their slugs. Their default is `out`.
    package let missing: [(slug: TopicSlug, content: Topic.Content)]

    /// - Throws: `ImportPlan.MissingOption` if the app would have too many topics.
    init(_ found: FoundTopics, over catalogue: TopicCatalogue) throws {
        self.catalogue = catalogue
        missing = try found.names.filter { catalogue[$0.key.rawValue] == nil }.sorted { $0.key < $1.key }.map {
            let content = try Topic.Content(
                name: $0.value, description: nil, category: nil, isInByDefault: false, isLocked: false)
            return ($0.key, content)
        }
        guard catalogue.topics.count + missing.count <= TopicCatalogue.topicsMax else {
            throw ImportPlan.MissingOption(
                description: "The app would have more than \(TopicCatalogue.topicsMax) topics: "
                    + "name those to import with --only-topic. The most frequent: \(found.mostFrequent).")
        }
    }

    /// Adds the missing topics as they were created, or for a dry run with numbers above all others.
    package mutating func add(_ created: [Topic]? = nil) {
        let newest = catalogue.topics.map(\.number.rawValue).max() ?? 0
        let topics =
            created
            ?? missing.enumerated().map { index, topic in
                Topic(number: TopicNumber(newest + Int32(index) + 1), slug: topic.slug, content: topic.content)
            }
        catalogue = TopicCatalogue(catalogue.topics + topics)
    }

    /// The choices of the tags, and the number of tags that cannot be topics. Leaving a locked topic is ignored.
    func choices(of tags: [ForeignTag]) -> (choices: TopicChoices, ignored: Int) {
        var choices = TopicChoices()
        let known = tags.compactMap { tag in tag.slug.map { (slug: $0.rawValue, choice: tag.isChosen) } }
        _ = choices.apply(TopicChange.tolerated(known, in: catalogue))
        return (choices, tags.count - known.count)
    }
}

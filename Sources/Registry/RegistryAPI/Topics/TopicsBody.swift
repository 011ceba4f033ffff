import PushRegistry
import StrictJSON

/// `{topics: {slug: true|false|null}}`, the body of a PATCH.
enum TopicsBody {
    /// - Returns: an empty array for an empty object.
    /// - Throws: 400 with every wrong type and every unknown topic; then 409 with every locked topic that the patch
    /// would leave.
    static func changes(_ body: [UInt8], in catalogue: TopicCatalogue) throws -> [TopicChange] {
        let document = try JSONDocument(body)
        let root = document.root.object()
        root?.refuseUnknownMembers(besides: ["topics"])
        let members = root?.object("topics", .required)?.choices() ?? []
        var changes: [(change: TopicChange, locked: JSONValue?)] = []
        for (slug, value, choice) in members {
            guard let topic = catalogue[slug] else {
                value.refuse(.unknownTopic, "The app has no such topic. GET /v1/apps/{app}/topics lists them.")
                continue
            }
            let isLocked = topic.content.isLocked && choice == false
            changes.append((TopicChange(topic, choice), isLocked ? value : nil))
        }
        try document.check()
        let locked = changes.compactMap(\.locked)
        guard locked.isEmpty else { throw APIError.topicLocked(locked.map(JSONFault.init(leaving:))) }
        return changes.map(\.change)
    }
}

extension JSONObject {
    /// The member `topics` of a registration; empty if it is absent, and after a fault.
    func topicChoices() -> [(slug: String, choice: Bool?)] {
        object("topics")?.choices().map { ($0.slug, $0.choice) } ?? []
    }

    /// The choices of an object of topics. A value of another type, and too many members, are faults.
    fileprivate func choices() -> [(slug: String, value: JSONValue, choice: Bool?)] {
        let members = members
        guard members.count <= TopicCatalogue.topicsMax else {
            value.refuse(.tooMany, "At most \(TopicCatalogue.topicsMax) topics are allowed.")
            return []
        }
        return members.compactMap { slug, value in
            if value.kind == .null { return (slug, value, nil) }
            return value.boolean().map { (slug, value, $0) }
        }
    }
}

extension JSONFault {
    fileprivate init(leaving value: JSONValue) {
        self.init(pointer: value.pointer, code: .topicLocked, detail: "Nobody can leave this topic.")
    }
}

extension JSONFault.Code {
    static let unknownTopic = JSONFault.Code(rawValue: "unknown-topic")
    static let topicLocked = JSONFault.Code(rawValue: "topic-locked")
}

extension JSONWriter {
    /// `{topics: [{topic, name, description, category, locked, subscribed, from}]}`: the whole catalogue.
    init(_ topics: ResolvedTopics, in catalogue: TopicCatalogue) {
        self.init(capacity: 160 * (catalogue.topics.count + 1))
        object { writer in
            writer.name("topics")
            writer.array { writer in
                for subscription in topics.subscriptions(in: catalogue) { writer.member(subscription) }
            }
        }
    }

    private mutating func member(_ subscription: TopicSubscription) {
        object { writer in
            writer.shown(subscription.topic)
            writer.member("locked", subscription.topic.content.isLocked)
            writer.member("subscribed", subscription.isSubscribed)
            writer.member("from", subscription.origin.rawValue)
        }
    }
}

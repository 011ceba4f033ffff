// GET /v1/apps/{app}/topics
// PUT /v1/apps/{app}/topics/{topic}
// GET /v1/apps/{app}/topics/{topic}
// DELETE /v1/apps/{app}/topics/{topic}

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// The whole catalogue, in the order of the slugs.
    var listTopics: Route {
        appRoute(.get, Self.topicsPattern, allowing: Self.topicReaders) { request, call in
            return .json(capacity: 4_096) { writer in
                writer.objects("topics", call.app.topics.topics) { $0.about($1) }
            }
        }
    }

    static let topicsPattern = "/v1/apps/{app}/topics"
    static let topicPattern = topicsPattern + "/{topic}"

    /// Creates the topic or replaces its content. The choices about it stay.
    var putTopic: Route {
        appRoute(
            .put, Self.topicPattern, allowing: [.marketing], bodyBytesMax: TopicLimits.contentBytesMax
        ) { request, call in
            let content = try TopicBody.content(try request.jsonBody())
            let slug = try request.identifier("topic", TopicSlug.init)
            let entry = AuditEntry(.topicSaved, slug.rawValue, by: call.caller, in: request)
            let (topic, isNew) = try await topics.put(slug, content, in: call.app.number, recording: entry)
            audit.changed(entry, by: call.caller, in: request)
            return .json(JSONWriter(topic), status: isNew ? .created : .ok)
        }
    }

    /// Clients read the catalogue for their settings screens.
    static let topicReaders: Roles = [.marketing, .sender, .service, .client, .support]

    var getTopic: Route {
        appRoute(.get, Self.topicPattern, allowing: Self.topicReaders) { request, call in
            guard let topic = call.app.topics[request.parameters["topic"]] else { throw APIError.unknownTopic }
            return .json(JSONWriter(topic))
        }
    }

    /// Idempotent. The choices about the topic are gone at once: a topic that is created again under the same name
    /// begins without choices. A topic that a segment names cannot be deleted.
    var deleteTopic: Route {
        appRoute(.delete, Self.topicPattern, allowing: [.marketing]) { request, call in
            let slug = try request.identifier("topic", TopicSlug.init)
            let entry = AuditEntry(.topicDeleted, slug.rawValue, by: call.caller, in: request)
            if try await topics.delete(slug, of: call.app.number, recording: entry) {
                audit.changed(entry, by: call.caller, in: request)
            }
            return ServerResponse(.noContent)
        }
    }
}

enum TopicLimits {
    static let contentBytesMax = 16 * 1_024
    /// The largest body with choices: 1,000 slugs of 64 characters, with their values.
    static let choicesBytesMax = 128 * 1_024
}

/// `{name, description?, category?, default, locked?}`.
private enum TopicBody {
    static func content(_ body: [UInt8]) throws -> Topic.Content {
        try JSONObject.read(body, members: ["name", "description", "category", "default", "locked"]) { root in
            let name = root.name()
            let description = root.string("description", scalarsMax: Topic.Content.textScalarsMax)
            let category = root.string("category", scalarsMax: Topic.Content.textScalarsMax)
            let isIn = root.isInByDefault()
            let isLocked = root.boolean("locked") ?? false
            guard let name, let isIn else { return nil }
            return root.parsed("default") { () throws(InvalidValue) in
                try Topic.Content(
                    name: name, description: description, category: category, isInByDefault: isIn, isLocked: isLocked)
            }
        }
    }
}

extension JSONObject {
    /// Nil after a fault.
    fileprivate func name() -> String? {
        let name = string("name", .required, scalarsMax: Topic.Content.textScalarsMax)
        guard name != "" else {
            refuse(member: "name", .required, "This must have at least one character.")
            return nil
        }
        return name
    }

    /// The member `default`; nil after a fault.
    fileprivate func isInByDefault() -> Bool? {
        switch string("default", .required, scalarsMax: Topic.Content.textScalarsMax) {
        case nil: return nil
        case "in": return true
        case "out": return false
        default:
            refuse(member: "default", .unknownValue, "This must be in or out.")
            return nil
        }
    }
}

extension JSONWriter {
    /// `{topic, name, description, category, default, locked}`.
    init(_ topic: Topic) {
        self.init { $0.about(topic) }
    }

    package mutating func about(_ topic: Topic) {
        shown(topic)
        member("default", topic.content.isInByDefault ? "in" : "out")
        member("locked", topic.content.isLocked)
    }

    /// Writes the members that a settings screen shows.
    mutating func shown(_ topic: Topic) {
        member("topic", topic.slug.rawValue)
        member("name", topic.content.name)
        member("description", topic.content.description)
        member("category", topic.content.category)
    }
}

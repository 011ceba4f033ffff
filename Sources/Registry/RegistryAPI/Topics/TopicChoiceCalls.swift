// GET /v1/apps/{app}/installations/{installId}/topics
// PATCH /v1/apps/{app}/installations/{installId}/topics
// GET /v1/apps/{app}/users/{userId}/topics
// PATCH /v1/apps/{app}/users/{userId}/topics

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    private static let installationTopicsPattern = installationPattern + "/topics"

    /// The whole catalogue, resolved for the installation.
    var getInstallationTopics: Route {
        appRoute(.get, Self.installationTopicsPattern, allowing: [.client, .service, .support]) { request, call in
            let (key, requester) = try installation(of: request, in: call)
            let found = try await topics.topics(of: key)
            try await checkCredential(of: call, on: key)
            guard let found, requester.owns(installationOf: found.owner.map { Owner(userID: $0) }) else {
                throw APIError.unknownInstallation
            }
            return .json(JSONWriter(found.topics, in: call.app.topics))
        }
    }

    /// Merges choices into those on the installation.
    var patchInstallationTopics: Route {
        appRoute(
            .patch, Self.installationTopicsPattern, allowing: [.client, .service],
            bodyBytesMax: TopicLimits.choicesBytesMax
        ) { request, call in
            let changes = try await request.parsedJSON { try TopicsBody.changes($0, in: call.app.topics) }
            let (key, requester) = try installation(of: request, in: call)
            let after = try await refusing(call) {
                try await topics.apply(TopicsPatch(changes, by: call), to: key, for: requester)
            }
            return .json(JSONWriter(after, in: call.app.topics))
        }
    }

    /// Adds the caller to a refusal for the audit log.
    func refusing<Value>(_ call: AppCall, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch TopicsPatch.Refusal.credentialEnded {
            throw RefusedCall(.endedCredential, call.caller)
        }
    }

    private static let userTopicsPattern = userPattern + "/topics"

    /// The whole catalogue, resolved by the user's own choices. A user who was never seen has the defaults.
    var getUserTopics: Route {
        appRoute(.get, Self.userTopicsPattern, allowing: [.client, .service, .support]) { request, call in
            let userID = try user(of: request, in: call)
            let choices = try await topics.choices(of: userID, in: call.app.number)
            try await checkCredential(of: call, on: nil)
            return .json(JSONWriter(ResolvedTopics(user: choices), in: call.app.topics))
        }
    }

    /// Merges choices into the user's. They apply to each of the user's installations that has no choice of its own.
    var patchUserTopics: Route {
        appRoute(
            .patch, Self.userTopicsPattern, allowing: [.client, .service], bodyBytesMax: TopicLimits.choicesBytesMax
        ) { request, call in
            let changes = try await request.parsedJSON { try TopicsBody.changes($0, in: call.app.topics) }
            let userID = try user(of: request, in: call)
            let after = try await refusing(call) {
                try await topics.apply(TopicsPatch(changes, by: call), to: userID, in: call.app.number)
            }
            return .json(JSONWriter(ResolvedTopics(user: after), in: call.app.topics))
        }
    }

    /// The user in the path. For a JWT, and for a service that names a user, every other user is a 404.
    private func user(of request: ServerRequest, in call: AppCall) throws -> UserID {
        try call.caller.checkActingHeaders(in: request)
        let userID = try request.identifier("userId", UserID.init)
        let owner = try Owner(request, by: call.caller)
        guard owner.map({ $0.userID == userID }) ?? call.caller.readsAllUsers else { throw APIError.unknownUser }
        return userID
    }
}

extension TopicsPatch {
    init(_ changes: [TopicChange], by call: AppCall) {
        self.init(changes, of: call.app, credential: call.caller.credential, actor: call.caller.actor)
    }
}

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
        self.init(capacity: 160 * (catalogue.topics.count + 1)) { writer in
            writer.array("topics", topics.subscriptions(in: catalogue)) { $0.member($1) }
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

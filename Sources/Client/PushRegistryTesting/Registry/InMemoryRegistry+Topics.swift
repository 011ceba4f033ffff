import Foundation
import PushRegistryClient

extension InMemoryRegistry {
    struct TopicDefinition {
        var name: String
        var isSubscribed: Bool
        var isLocked: Bool
    }

    /// Creates or replaces a topic of the app.
    ///
    /// - Parameter subscribed: the default.
    public func define(topic: String, name: String, subscribed: Bool = false, locked: Bool = false) {
        catalogue[topic] = TopicDefinition(name: name, isSubscribed: subscribed || locked, isLocked: locked)
    }

    /// Makes a user's choice for all of the user's installations, as on another device. Nil removes it.
    public func choose(topic: String, subscribed: Bool?, user: String) {
        userTopics[user, default: [:]][topic] = subscribed
    }

    func topics(_ call: Call, by caller: Caller) throws(Refusal) -> Response {
        resolved(try readable(call, by: caller))
    }

    func changeTopics(_ call: Call, by caller: Caller) throws(Refusal) -> Response {
        var installation = try readable(call, by: caller)
        let choices = try call.json()["topics"]?.members ?? [:]
        let unknown = choices.keys.filter { catalogue[$0] == nil }.sorted()
        guard unknown.isEmpty else {
            throw Refusal(
                400, "invalid-body",
                ["errors": .array(unknown.map { ["pointer": .string("/topics/\($0)"), "code": "unknown-topic"] })])
        }
        guard !choices.contains(where: { catalogue[$0.key]?.isLocked == true && $0.value == .boolean(false) }) else {
            throw Refusal(409, "topic-locked")
        }
        choose(choices, in: &installation)
        installations[call.installID] = installation
        return resolved(installation)
    }

    /// Unknown topics are ignored, and so is leaving a locked one.
    func choose(_ choices: [String: JSON], in installation: inout Installation) {
        for (topic, choice) in choices {
            guard let definition = catalogue[topic] else { continue }
            switch choice {
            case .boolean(let isSubscribed) where isSubscribed || !definition.isLocked:
                installation.topics[topic] = isSubscribed
            case .null: installation.topics[topic] = nil
            default: break
            }
        }
    }

    private func resolved(_ installation: Installation) -> Response {
        let user = installation.owner.flatMap { userTopics[$0.user] } ?? [:]
        let rows = catalogue.sorted { $0.key < $1.key }.map { topic, definition -> JSON in
            let own = definition.isLocked ? nil : installation.topics[topic]
            let inherited = definition.isLocked ? nil : user[topic]
            return [
                "topic": .string(topic), "name": .string(definition.name), "description": .null, "category": .null,
                "locked": .boolean(definition.isLocked),
                "subscribed": .boolean(own ?? inherited ?? definition.isSubscribed),
                "from": .string(own != nil ? "installation" : inherited != nil ? "user" : "default"),
            ]
        }
        return .json(["topics": .array(rows)])
    }
}

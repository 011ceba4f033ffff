import Foundation

extension PushRegistryClient {
    /// A topic of the app, and whether this installation gets its pushes: a row of a settings screen.
    public struct Topic: Sendable, Hashable, Codable {
        /// The level whose choice decides.
        public enum Origin: String, Sendable, Hashable, Codable {
            case installation, user
            case byDefault = "default"
        }

        public var topic: String
        public var name: String
        public var description: String?
        public var category: String?
        /// Nobody can leave a locked topic.
        public var locked: Bool
        public var subscribed: Bool
        public var from: Origin
    }

    /// Fetches all topics of the app, and applies the choices that are not sent yet.
    ///
    /// - Throws: `Failure`.
    public var topics: [Topic] {
        get async throws {
            struct Catalogue: Decodable {
                var topics: [Topic]
            }
            let id = try registeredInstallation()
            let endpoint = endpoint
            let response = try await response { endpoint.topics(id, credential: $0) }
            guard response.isSuccess else { throw Failure.refused(response.problem) }
            guard let catalogue = try? JSONDecoder().decode(Catalogue.self, from: response.body) else {
                throw Failure.unavailable(retryAfter: nil)
            }
            let chosen = machine.saved.topics
            return catalogue.topics.map { topic in
                guard !topic.locked, let choice = chosen[topic.topic] ?? nil else { return topic }
                var topic = topic
                topic.subscribed = choice
                topic.from = .installation
                return topic
            }
        }
    }

    /// Chooses to get a topic's pushes. The choice is stored at once, and sent with the next registration.
    ///
    /// - Throws: `Failure.invalidValue` for text that cannot name a topic, or `.storageUnavailable`.
    public func subscribe(to topic: String) throws {
        try choose(topic, true)
    }

    /// Leaves a topic: the installation gets none of its pushes.
    ///
    /// - Throws: as `subscribe(to:)`.
    public func unsubscribe(from topic: String) throws {
        try choose(topic, false)
    }

    /// Removes the installation's choice: then the user's choice decides, or the topic's default.
    ///
    /// - Throws: as `subscribe(to:)`.
    public func resetSubscription(to topic: String) throws {
        try choose(topic, nil)
    }

    private func choose(_ topic: String, _ choice: Bool?) throws {
        guard topic.wholeMatch(of: #/[a-z0-9._-]{1,64}/#) != nil else { throw Failure.invalidValue }
        load()
        machine.handle(.choose([topic: choice]), at: clock.now)
        defer { wake() }
        guard persist() else { throw Failure.storageUnavailable }
    }
}

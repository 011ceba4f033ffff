import RegistryTestSupport
import Testing

extension RegistryApp {
    /// Creates or replaces a topic.
    func putTopic(_ slug: String, isIn: Bool, isLocked: Bool = false) async throws {
        let body: JSON = [
            "name": .string("Topic \(slug)"), "default": .string(isIn ? "in" : "out"), "locked": .boolean(isLocked),
        ]
        let response = try await send("PUT", "/topics/\(slug)", body, by: .role(.marketing))
        try #require((200...201).contains(response.status), "\(response.text)")
    }
}

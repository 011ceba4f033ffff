// DELETE /v1/apps/{app}/topics/{topic}

import HTTPApplication
import HTTPTypes
import PushRegistry

extension RegistryService {
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

// GET /v1/apps/{app}/topics

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// The whole catalogue, in the order of the slugs.
    var listTopics: Route {
        appRoute(.get, Self.topicsPattern, allowing: Self.topicReaders) { request, call in
            var writer = JSONWriter(capacity: 4_096)
            writer.object { writer in
                writer.name("topics")
                writer.array { writer in
                    for topic in call.app.topics.topics { writer.object { $0.about(topic) } }
                }
            }
            return .json(writer)
        }
    }
}

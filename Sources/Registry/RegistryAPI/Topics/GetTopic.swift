// GET /v1/apps/{app}/topics/{topic}

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// Clients read the catalogue for their settings screens.
    static let topicReaders: Roles = [.marketing, .sender, .service, .client, .support]

    var getTopic: Route {
        appRoute(.get, Self.topicPattern, allowing: Self.topicReaders) { request, call in
            guard let topic = call.app.topics[request.parameters["topic"]] else { throw APIError.unknownTopic }
            return .json(JSONWriter(topic))
        }
    }
}

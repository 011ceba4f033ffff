// GET /v1/apps/{app}/topics/{topic}

import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// Clients read the catalogue for their settings screens.
    static let topicReaders: Roles = [.marketing, .sender, .service, .client, .support]

    var getTopic: Route {
        Route(.get, Self.topicPattern) { request in
            let call = try await appCall(request, allowing: Self.topicReaders)
            guard let topic = call.app.topics[request.parameters["topic"]] else { throw APIError.unknownTopic }
            return .json(JSONWriter(topic))
        }
    }
}

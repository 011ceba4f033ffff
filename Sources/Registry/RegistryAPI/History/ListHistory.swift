// GET /v1/apps/{app}/installations/{installId}/history

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var listHistory: Route {
        appRoute(.get, Self.installationPattern + "/history", allowing: [.service, .support]) { request, call in
            let page = try PageRequest(request, ofEventsOf: call.app.number)
            let (key, requester) = try installation(of: request, in: call)
            try await checkOwner(of: key, for: requester)
            guard let found = try await events.events(of: key, before: page.after, limit: page.limit) else {
                throw APIError.unknownInstallation
            }
            return .json(JSONWriter(found))
        }
    }
}

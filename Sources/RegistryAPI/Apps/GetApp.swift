// GET /v1/apps/{app}

import HTTPServer
import HTTPTypes
import PushRegistry

extension RegistryService {
    var getApp: Route {
        Route(.get, Self.appPattern) { request in
            let call = try await appCall(request, allowing: [.admin])
            return .policy(call.app)
        }
    }
}

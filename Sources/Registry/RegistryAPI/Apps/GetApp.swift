// GET /v1/apps/{app}

import HTTPApplication
import HTTPTypes
import PushRegistry

extension RegistryService {
    var getApp: Route {
        appRoute(.get, Self.appPattern, allowing: [.admin]) { request, call in
            return .policy(call.app)
        }
    }
}

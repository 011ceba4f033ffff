// GET /v1/apps/{app}

import HTTPApplication
import HTTPTypes
import PushRegistry

extension RegistryService {
    var getApp: Route {
        let route = appRoute(.get, Self.appPattern, allowing: [.admin]) { request, call in
            return .policy(call.app)
        }
        return route.wrapped { next in
            { request in
                do {
                    return try await next(request)
                } catch let refused as RefusedCall where refused.caller.isServerAdmin {
                    let id = try? AppID(request.parameters["app"])
                    guard let app = id.flatMap({ directory.lastRead.deleting[$0] }) else { throw refused }
                    return .progress(of: app, left: try await directory.installationsLeft(of: app.number))
                }
            }
        }
    }
}

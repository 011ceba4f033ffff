// GET /healthz: the service's response.
// POST /echo: decodes a registration and returns the length of its token and installation id.

import HTTPApplication
import HTTPTypes
import StrictJSON

/// The routes of both sides of the engine benchmark.
enum EngineRoutes {
    /// The limit of the service's registrations.
    private static let bodyBytesMax = 16 * 1024

    private static let healthy = ServerResponse(
        .ok, fields: [.contentType: "application/json"], body: .bytes(Array(#"{"status":"ok"}"#.utf8)))

    static var application: Application { Application(router: Router([health, echo])) }

    private static var health: Route {
        Route(.get, "/healthz") { _ in healthy }
    }

    private static var echo: Route {
        Route(.post, "/echo", bodyBytesMax: bodyBytesMax) { request in
            let registration = try EngineRegistration(request.body)
            var writer = JSONWriter()
            writer.object { $0.member("size", registration.size) }
            return ServerResponse(.ok, fields: [.contentType: "application/json"], body: .bytes(writer.bytes))
        }
    }
}

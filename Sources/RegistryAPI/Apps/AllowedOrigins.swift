import HTTPServer
import HTTPTypes
import PushRegistry

extension RegistryService {
    /// What web pages call: the resources of an app. The app itself and its keys are its administrator's.
    private static func isShared(_ route: Route) -> Bool {
        route.pattern.hasPrefix(appPattern + "/") && !route.pattern.hasPrefix(keysPattern)
    }

    /// The routes, those of an app's resources shared with the web origins of its policy.
    func sharedWithAllowedOrigins(_ routes: [Route]) -> [Route] {
        var sharing = CrossOriginSharing { origin, request in
            await allows(origin, app: request.parameters["app"])
        }
        // X-User-Id and X-Session-Id are missing for a reason: a service's key has no place in a web page.
        sharing.requestFields = [.authorization, .contentType, .ifMatch, .xRequestID]
        sharing.responseFields = [.eTag, .xRequestID, .retryAfter, .wwwAuthenticate]
        let (shared, others) = routes.reduce(into: ([Route](), [Route]())) { parts, route in
            if Self.isShared(route) { parts.0.append(route) } else { parts.1.append(route) }
        }
        return sharing.share(shared) + others
    }

    /// Whether the app's policy allows the origin. An app that does not exist allows none, and so does one whose policy
    /// cannot be read because the database is away.
    func allows(_ origin: String, app: String) async -> Bool {
        guard let id = try? AppID(app), let directory = try? await directory.current() else { return false }
        return directory.apps[id]?.policy.allows(origin: origin) ?? false
    }
}

import HTTPApplication
import HTTPTypes
import PushRegistry

extension RegistryService {
    /// Whether web pages may call the route: the resources of an app, but not its policy and keys.
    private static func isShared(_ route: Route) -> Bool {
        route.pattern.hasPrefix(appPattern + "/") && !route.pattern.hasPrefix(keysPattern)
    }

    /// The routes, with CORS for the web origins that an app's policy allows.
    func sharedWithAllowedOrigins(_ routes: [Route]) -> [Route] {
        var sharing = CrossOriginSharing { origin, request in
            await allows(origin, app: request.parameters["app"])
        }
        // X-User-Id and X-Session-Id are left out on purpose: a service's key must not be in a web page.
        sharing.requestFields = [.authorization, .contentType, .ifMatch, .deliveryKey, .xRequestID]
        sharing.responseFields = [.eTag, .xRequestID, .retryAfter, .wwwAuthenticate]
        let open = routes.filter { $0.pattern == Self.receiptsPattern }
        let (shared, others) = routes.filter { $0.pattern != Self.receiptsPattern }.reduce(into: ([Route](), [Route]()))
        { parts, route in
            if Self.isShared(route) { parts.0.append(route) } else { parts.1.append(route) }
        }
        return sharing.share(shared) + Self.receiptSharing.share(open) + others
    }

    /// Receipts come from service workers of every origin.
    private static var receiptSharing: CrossOriginSharing {
        var sharing = CrossOriginSharing()
        sharing.requestFields = [.contentType, .xRequestID]
        sharing.responseFields = [.xRequestID, .retryAfter]
        return sharing
    }

    /// How old the policy may be by which an origin is allowed. Strangers ask without a credential, so not each of
    /// their requests may read the database.
    private static let policyAgeMax = Duration.seconds(1)

    /// Whether the app's policy allows the origin. False also if the app does not exist or the database is unreachable.
    func allows(_ origin: String, app: String) async -> Bool {
        guard let id = try? AppID(app), let directory = try? await directory.current(within: Self.policyAgeMax) else {
            return false
        }
        return directory.apps[id]?.policy.allows(origin: origin) ?? false
    }
}

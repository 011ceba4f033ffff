// DELETE /v1/apps/{app}/sessions/{sessionId}

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var endSession: Route {
        appRoute(.delete, "/v1/apps/{app}/sessions/{sessionId}", allowing: [.service]) { request, call in
            let sessionID = try request.identifier("sessionId", SessionID.init)
            let count = try await users.end(
                SessionEnd(
                    app: call.app.number, scope: .session(sessionID), catalogue: call.app.topics,
                    actor: call.caller.actor))
            return .loggedOut(count)
        }
    }
}

extension ServerResponse {
    /// `{loggedOut: n}`.
    static func loggedOut(_ count: Int) -> ServerResponse {
        var writer = JSONWriter()
        writer.object { $0.member("loggedOut", Int64(count)) }
        return .json(writer)
    }
}

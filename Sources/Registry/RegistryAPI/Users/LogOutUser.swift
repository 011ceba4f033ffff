// POST /v1/apps/{app}/users/{userId}/logout

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    static let userPattern = "/v1/apps/{app}/users/{userId}"

    var logOutUser: Route {
        appRoute(
            .post, Self.userPattern + "/logout", allowing: [.service], bodyBytesMax: Self.logoutBytesMax
        ) { request, call in
            let kept = try UserLogoutBody.exceptedSession(try request.jsonBody())
            let userID = try request.identifier("userId", UserID.init)
            let count = try await users.end(
                SessionEnd(
                    app: call.app.number, scope: .user(userID, except: kept), catalogue: call.app.topics,
                    actor: call.caller.actor))
            return .loggedOut(count)
        }
    }
}

/// `{exceptSessionId?}`, or an empty body.
enum UserLogoutBody {
    static func exceptedSession(_ body: [UInt8]) throws(JSONFaults) -> SessionID? {
        guard !body.isEmpty else { return nil }
        let document = try JSONDocument(body)
        var kept: SessionID?
        if let root = document.root.object(), let text = root.string("exceptSessionId", scalarsMax: 128) {
            kept = root.parsed("exceptSessionId") { () throws(InvalidValue) in try SessionID(text) }
        }
        try document.check()
        return kept
    }
}

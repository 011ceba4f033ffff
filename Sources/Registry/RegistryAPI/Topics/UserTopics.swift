// GET /v1/apps/{app}/users/{userId}/topics
// PATCH /v1/apps/{app}/users/{userId}/topics

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    private static let userTopicsPattern = userPattern + "/topics"

    /// The whole catalogue, resolved by the user's own choices. A user who was never seen has the defaults.
    var getUserTopics: Route {
        appRoute(.get, Self.userTopicsPattern, allowing: [.client, .service, .support]) { request, call in
            let userID = try user(of: request, in: call)
            let choices = try await topics.choices(of: userID, in: call.app.number)
            try await checkCredential(of: call, on: nil)
            return .json(JSONWriter(ResolvedTopics(user: choices), in: call.app.topics))
        }
    }

    /// Merges choices into the user's. They apply to each of the user's installations that has no choice of its own.
    var patchUserTopics: Route {
        appRoute(
            .patch, Self.userTopicsPattern, allowing: [.client, .service], bodyBytesMax: TopicLimits.choicesBytesMax
        ) { request, call in
            let changes = try await request.parsedJSON { try TopicsBody.changes($0, in: call.app.topics) }
            let userID = try user(of: request, in: call)
            let after = try await refusing(call) {
                try await topics.apply(TopicsPatch(changes, by: call), to: userID, in: call.app.number)
            }
            return .json(JSONWriter(ResolvedTopics(user: after), in: call.app.topics))
        }
    }

    /// The user in the path. For a JWT, and for a service that names a user, every other user is a 404.
    private func user(of request: ServerRequest, in call: AppCall) throws -> UserID {
        try call.caller.checkActingHeaders(in: request)
        let userID = try request.identifier("userId", UserID.init)
        let owner = try Owner(request, by: call.caller)
        guard owner.map({ $0.userID == userID }) ?? call.caller.readsAllUsers else { throw APIError.unknownUser }
        return userID
    }
}

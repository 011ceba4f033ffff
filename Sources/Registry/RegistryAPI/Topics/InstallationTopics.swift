// GET /v1/apps/{app}/installations/{installId}/topics
// PATCH /v1/apps/{app}/installations/{installId}/topics

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    private static let installationTopicsPattern = installationPattern + "/topics"

    /// The whole catalogue, resolved for the installation.
    var getInstallationTopics: Route {
        appRoute(.get, Self.installationTopicsPattern, allowing: [.client, .service, .support]) { request, call in
            let (key, requester) = try installation(of: request, in: call)
            let found = try await topics.topics(of: key)
            try await checkCredential(of: call, on: key)
            guard let found, requester.owns(installationOf: found.owner.map { Owner(userID: $0) }) else {
                throw APIError.unknownInstallation
            }
            return .json(JSONWriter(found.topics, in: call.app.topics))
        }
    }

    /// Merges choices into those on the installation.
    var patchInstallationTopics: Route {
        appRoute(
            .patch, Self.installationTopicsPattern, allowing: [.client, .service],
            bodyBytesMax: TopicLimits.choicesBytesMax
        ) { request, call in
            let changes = try await request.parsedJSON { try TopicsBody.changes($0, in: call.app.topics) }
            let (key, requester) = try installation(of: request, in: call)
            let after = try await refusing(call) {
                try await topics.apply(TopicsPatch(changes, by: call), to: key, for: requester)
            }
            return .json(JSONWriter(after, in: call.app.topics))
        }
    }

    /// Adds the caller to a refusal for the audit log.
    func refusing<Value>(_ call: AppCall, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch TopicsPatch.Refusal.credentialEnded {
            throw RefusedCall(.endedCredential, call.caller)
        }
    }
}

extension TopicsPatch {
    init(_ changes: [TopicChange], by call: AppCall) {
        self.init(changes, of: call.app, credential: call.caller.credential, actor: call.caller.actor)
    }
}

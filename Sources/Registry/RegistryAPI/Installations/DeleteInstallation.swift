// DELETE /v1/apps/{app}/installations/{installId}

import HTTPApplication
import HTTPTypes
import PushRegistry

extension RegistryService {
    var deleteInstallation: Route {
        appRoute(.delete, Self.installationPattern, allowing: [.client, .service]) { request, call in
            let (key, requester) = try installation(of: request, in: call)
            try await checkCredential(of: call, on: key)
            let deletion = Deletion(
                key: key, requester: requester, credential: call.caller.credential,
                sessionTombstones: call.app.policy.sessionTombstones, precondition: try ETag.precondition(request),
                actor: call.caller.actor)
            do {
                try await installations.delete(deletion)
            } catch DeletionRefusal.credentialEnded {
                throw RefusedCall(.endedCredential, call.caller)
            }
            return ServerResponse(.noContent)
        }
    }
}

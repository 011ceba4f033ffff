// DELETE /v1/apps/{app}/installations/{installId}

import HTTPServer
import HTTPTypes
import PushRegistry

extension RegistryService {
    var deleteInstallation: Route {
        Route(.delete, Self.installationPattern) { request in
            let call = try await appCall(request, allowing: [.client, .service])
            let (key, requester) = try await installation(of: request, in: call)
            let removal = Removal(
                key: key, requester: requester, precondition: try ETag.precondition(request),
                actor: call.caller.actor)
            try await store.remove(removal)
            return ServerResponse(.noContent)
        }
    }
}

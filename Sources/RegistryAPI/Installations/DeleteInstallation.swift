// DELETE /v1/apps/{app}/installations/{installId}

import HTTPServer
import HTTPTypes
import PushRegistry

extension RegistryService {
    var deleteInstallation: Route {
        Route(.delete, Self.installationPattern) { request in
            let call = try await appCall(request, allowing: [.client, .service])
            try call.caller.checkNaming(in: request)
            let removal = Removal(
                key: InstallationKey(app: call.app.number, installID: try InstallID(request)),
                requester: Requester(call.caller), precondition: try ETag.precondition(request),
                actor: call.caller.actor)
            try await store.remove(removal)
            return ServerResponse(.noContent)
        }
    }
}

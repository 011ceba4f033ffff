// DELETE /v1/apps/{app}/keys/{keyId}

import HTTPApplication
import HTTPTypes
import PushRegistry

extension RegistryService {
    var revokeKey: Route {
        appRoute(.delete, Self.keysPattern + "/{keyId}", allowing: [.admin]) { request, call in
            let id = request.parameters["keyId"]
            let entry = AuditEntry(.keyRevoked, id, by: call.caller, in: request)
            guard try await directory.revokeKey(id, of: call.app.number, recording: entry) else {
                throw APIError.unknownKey
            }
            audit.changed(entry, by: call.caller, in: request)
            return ServerResponse(.noContent)
        }
    }
}

// DELETE /v1/apps/{app}/keys/{keyId}

import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry

extension RegistryService {
    var revokeKey: Route {
        appRoute(.delete, Self.keysPattern + "/{keyId}", allowing: [.admin]) { request, call in
            let id = request.parameters["keyId"]
            guard try await directory.revokeKey(id, of: call.app.number) else { throw APIError.unknownKey }
            audit.changed("key revoked", ["keyId": "\(id)"], by: call.caller, in: request)
            return ServerResponse(.noContent)
        }
    }
}

// GET /v1/apps/{app}/installations/{installId}

import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var getInstallation: Route {
        Route(.get, Self.installationPattern) { request in
            let call = try await appCall(request, allowing: [.client, .service])
            try call.caller.checkNaming(in: request)
            let key = InstallationKey(app: call.app.number, installID: try InstallID(request))
            guard let record = try await store.installation(key),
                Requester(call.caller).owns(installationOf: record.installation.owner)
            else { throw APIError.unknownInstallation }
            var writer = JSONWriter(capacity: 2_048)
            writer.installation(record, showing: RecordAudience(call.caller))
            return .json(writer, fields: [.eTag: ETag.make(record.installation.generation)])
        }
    }
}

extension Requester {
    /// A key without the role service proves no user.
    init(_ caller: Caller) {
        if let user = caller.user {
            self = .user(user.owner.userID)
        } else {
            self = caller.isService ? .service : .anonymous
        }
    }
}

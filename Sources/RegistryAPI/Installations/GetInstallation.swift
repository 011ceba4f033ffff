// GET /v1/apps/{app}/installations/{installId}

import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var getInstallation: Route {
        Route(.get, Self.installationPattern) { request in
            let call = try await appCall(request, allowing: [.client, .service])
            let (key, requester) = try await installation(of: request, in: call)
            guard let record = try await store.installation(key),
                requester.owns(installationOf: record.installation.owner)
            else { throw APIError.unknownInstallation }
            var writer = JSONWriter(capacity: 2_048)
            writer.installation(record, showing: RecordAudience(call.caller))
            return .json(writer, fields: [.eTag: ETag.make(record.installation.generation)])
        }
    }
}

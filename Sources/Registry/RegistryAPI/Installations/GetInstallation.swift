// GET /v1/apps/{app}/installations/{installId}

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var getInstallation: Route {
        appRoute(.get, Self.installationPattern, allowing: [.client, .service, .support]) { request, call in
            let (key, requester) = try installation(of: request, in: call)
            // A logout that excepts the session of an older JWT makes it valid: the read must come afterwards, too.
            try await checkCredential(of: call, on: key)
            let found = try await installations.installation(key)
            try await checkCredential(of: call, on: key)
            guard let record = found, requester.owns(installationOf: record.installation.owner) else {
                throw APIError.unknownInstallation
            }
            var writer = JSONWriter(capacity: 2_048)
            writer.installation(record, showing: RecordAudience(call.caller))
            return .json(writer, fields: [.eTag: ETag.make(record.installation.generation)])
        }
    }
}

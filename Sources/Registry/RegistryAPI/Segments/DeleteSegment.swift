// DELETE /v1/apps/{app}/segments/{name}

import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry

extension RegistryService {
    /// Idempotent. A segment that another one names cannot be deleted.
    var deleteSegment: Route {
        appRoute(.delete, Self.segmentPattern, allowing: [.marketing]) { request, call in
            let name = try request.identifier("name", SegmentName.init)
            let precondition = try ETag.revisionPrecondition(request)
            if try await segments.delete(name, of: call.app.number, check: { try precondition?.check($0) }) {
                audit.changed("segment deleted", ["segment": "\(name)"], by: call.caller, in: request)
            }
            return ServerResponse(.noContent)
        }
    }
}

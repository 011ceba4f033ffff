// DELETE /v1/apps/{app}/segments/{name}

import HTTPApplication
import HTTPTypes
import PushRegistry

extension RegistryService {
    /// Idempotent. A segment that another one names cannot be deleted.
    var deleteSegment: Route {
        appRoute(.delete, Self.segmentPattern, allowing: [.marketing]) { request, call in
            let name = try request.identifier("name", SegmentName.init)
            let precondition = try ETag.revisionPrecondition(request)
            let entry = AuditEntry(.segmentDeleted, name.rawValue, by: call.caller, in: request)
            let existed = try await segments.delete(name, of: call.app.number, recording: entry) {
                try precondition?.check($0)
            }
            if existed { audit.changed(entry, by: call.caller, in: request) }
            return ServerResponse(.noContent)
        }
    }
}

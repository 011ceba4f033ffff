// DELETE /v1/apps/{app}/segments/{name}

import HTTPServer
import HTTPTypes
import Logging
import PushRegistry

extension RegistryService {
    /// Idempotent. What another segment names stays.
    var deleteSegment: Route {
        Route(.delete, Self.segmentPattern) { request in
            let call = try await appCall(request, allowing: [.marketing])
            if let name = try? SegmentName(request.parameters["name"]) {
                let precondition = try ETag.revisionPrecondition(request)
                try await segments.delete(name, of: call.app.number) { try precondition?.check($0) }
                audit.changed("segment deleted", ["segment": "\(name)"], by: call.caller, in: request)
            }
            return ServerResponse(.noContent)
        }
    }
}

// GET /v1/apps/{app}/segments/{name}

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var getSegment: Route {
        appRoute(.get, Self.segmentPattern, allowing: Self.audienceRoles) { request, call in
            guard let name = try? SegmentName(request.parameters["name"]),
                let segment = try await segments.segment(name, of: call.app.number)
            else { throw APIError.unknownSegment }
            return .segment(try await shown([segment], to: call)[0], revision: segment.revision)
        }
    }
}

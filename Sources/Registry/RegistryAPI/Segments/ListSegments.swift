// GET /v1/apps/{app}/segments

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// Pages are in the order of the names.
    var listSegments: Route {
        appRoute(.get, Self.segmentsPattern, allowing: Self.audienceRoles) { request, call in
            let page = try PageRequest(request) { try? SegmentName($0) }
            let found = try await segments.segments(of: call.app.number, after: page.after, limit: page.limit)
            let shown = try await shown(Array(found.prefix(page.limit)), to: call)
            var writer = JSONWriter(capacity: 4_096)
            writer.object { writer in
                writer.name("segments")
                writer.array { writer in
                    for segment in shown { writer.member(segment) }
                }
                let last = found.count > page.limit ? found[page.limit - 1] : nil
                writer.member("next", last?.name.rawValue)
            }
            return .json(writer)
        }
    }
}

// POST /v1/apps/{app}/audience/count
// GET /v1/apps/{app}/audience/count

import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var countAudience: Route {
        Route(.post, Self.audiencePattern + "/count", bodyBytesMax: AudienceLimits.bodyBytesMax) { request in
            let call = try await appCall(request, allowing: Self.audienceRoles)
            let body = try AudienceBody.parse(try request.jsonBody(), links: links, members: ["explain"]) { _ in () }
            let audience = try await audience(body, of: call.app)
            return .json(JSONWriter(try await audiences.count(audience, explains: body.explains)))
        }
    }

    /// Counts by a flat filter in the query.
    var countAudienceByQuery: Route {
        Route(.get, Self.audiencePattern + "/count") { request in
            let call = try await appCall(request, allowing: Self.audienceRoles)
            let audience = try await audience(try FilterQuery(request, links: links), of: call.app)
            return .json(JSONWriter(try await audiences.count(audience, explains: false)))
        }
    }
}

extension JSONWriter {
    /// `{count, asOf}`.
    fileprivate init(_ count: AudienceCount) {
        self.init()
        object { writer in
            writer.member("count", count.count)
            writer.member("asOf", count.asOf.description)
            writer.member(count.plan)
        }
    }
}

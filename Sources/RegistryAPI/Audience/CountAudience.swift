// POST /v1/apps/{app}/audience/count
// GET /v1/apps/{app}/audience/count

import HTTPServer
import HTTPTypes
import HTTPWire
import PushRegistry
import StrictJSON

extension RegistryService {
    var countAudience: Route {
        Route(.post, Self.audiencePattern + "/count", bodyBytesMax: AudienceLimits.bodyBytesMax) { request in
            let call = try await appCall(request, allowing: Self.audienceRoles)
            let bytes = try request.jsonBody()
            let body = try AudienceBody.parse(bytes, in: vocabulary(of: call.app), members: ["explain"]) { _ in () }
            let audience = try await audience(body, of: call.app)
            let count = try await audiences.count(audience, explains: body.explains)
            let notes = AudienceNote.notes(on: audience, unknown: count.unknown, hasInclude: body.hasInclude) {
                FilterLocations(bytes, $0, in: vocabulary(of: call.app))
            }
            return .json(JSONWriter(count, notes))
        }
    }

    /// Counts by a flat filter in the query.
    var countAudienceByQuery: Route {
        Route(.get, Self.audiencePattern + "/count") { request in
            let call = try await appCall(request, allowing: Self.audienceRoles)
            let query = try FilterQuery(request, in: vocabulary(of: call.app))
            let audience = try await audience(query, of: call.app)
            let count = try await audiences.count(audience, explains: false)
            let items = try request.head.queryItems().map { (name: $0.name, value: $0.value) }
            let notes = AudienceNote.notes(on: audience, unknown: count.unknown, hasInclude: query.hasInclude) {
                FilterLocations(items, $0, in: vocabulary(of: call.app))
            }
            return .json(JSONWriter(count, notes))
        }
    }
}

extension JSONWriter {
    /// `{count, asOf, notes?}`.
    fileprivate init(_ count: AudienceCount, _ notes: [AudienceNote]) {
        self.init()
        object { writer in
            writer.member("count", count.count)
            writer.member("asOf", count.asOf.description)
            writer.member(notes)
            writer.member(count.plan)
        }
    }
}

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
            let body = try AudienceBody.parse(bytes, links: links, members: ["explain"]) { _ in () }
            let audience = try await audience(body, of: call.app)
            let answer = try await audiences.count(audience, explains: body.explains)
            let notes = AudienceNote.notes(on: audience, unknown: answer.unknown, hasInclude: body.hasInclude) {
                FilterPlaces(bytes, $0, links: links)
            }
            return .json(JSONWriter(answer, notes))
        }
    }

    /// The same for a flat filter in the query.
    var countAudienceByQuery: Route {
        Route(.get, Self.audiencePattern + "/count") { request in
            let call = try await appCall(request, allowing: Self.audienceRoles)
            let query = try FilterQuery(request, links: links)
            let audience = try await audience(query, of: call.app)
            let answer = try await audiences.count(audience, explains: false)
            let items = try request.head.queryItems().map { (name: $0.name, value: $0.value) }
            let notes = AudienceNote.notes(on: audience, unknown: answer.unknown, hasInclude: query.hasInclude) {
                FilterPlaces(items, $0, links: links)
            }
            return .json(JSONWriter(answer, notes))
        }
    }
}

extension JSONWriter {
    /// `{count, asOf}`.
    fileprivate init(_ answer: AudienceCount, _ notes: [AudienceNote]) {
        self.init()
        object { writer in
            writer.member("count", answer.count)
            writer.member("asOf", answer.asOf.description)
            writer.member(notes)
            writer.member(answer.plan)
        }
    }
}

// POST /v1/apps/{app}/audience/count
// GET /v1/apps/{app}/audience/count

import HTTPApplication
import HTTPTypes
import HTTPWire
import PushRegistry
import StrictJSON

extension RegistryService {
    var countAudience: Route {
        appRoute(
            .post, Self.audiencePattern + "/count", allowing: Self.audienceRoles,
            bodyBytesMax: AudienceLimits.bodyBytesMax
        ) { request, call in
            let bytes = try request.jsonBody()
            let body = try await parsing(bytes.count) {
                try AudienceBody.parse(
                    bytes, in: vocabulary(of: call.app), members: ["explain", "sample", "kind", "name"],
                    SampleOption.init)
            }
            let audience = try await audience(body, for: call)
            let count = try await audiences.count(audience, explains: body.explains)
            let sample = try await sample(of: audience, body.options)
            let notes = AudienceNote.notes(on: audience, of: body, unknown: count.unknown)
            return .json(JSONWriter(count, notes, sample: sample))
        }
    }

    /// The first opaque ids of the audience, those of marketing's first page; nil if none are wanted.
    private func sample(of audience: Audience, _ option: SampleOption) async throws -> [String]? {
        guard let limit = option.limit else { return nil }
        let page = try await audiences.page(audience, from: .opaqueID(after: nil), limit: limit, explains: false)
        return page.items.compactMap(\.opaqueID?.text)
    }

    /// Counts by a flat filter in the query.
    var countAudienceByQuery: Route {
        appRoute(.get, Self.audiencePattern + "/count", allowing: Self.audienceRoles) { request, call in
            let query = try FilterQuery(request, in: vocabulary(of: call.app))
            let audience = try await audience(query, for: call)
            let count = try await audiences.count(audience, explains: false)
            let notes = AudienceNote.notes(on: audience, of: query.body, unknown: count.unknown) {
                .parameter(query.parameter(at: $0) ?? "segment")
            }
            return .json(JSONWriter(count, notes))
        }
    }
}

/// The member `sample`.
private struct SampleOption: Sendable {
    private static let allowed: ClosedRange<Int64> = 1...20

    /// Nil if no sample is wanted.
    let limit: Int?

    /// Nil after a fault.
    init?(_ root: JSONObject) {
        guard root.value("sample") != nil else {
            limit = nil
            return
        }
        guard let number = root.integer("sample", in: Self.allowed) else { return nil }
        limit = Int(number)
    }
}

extension JSONWriter {
    /// `{count, asOf, sample?, notes?}`.
    init(_ count: AudienceCount, _ notes: [AudienceNote], sample: [String]? = nil) {
        self.init()
        object { writer in
            writer.member("count", count.count)
            writer.member("asOf", count.asOf.description)
            if let sample { writer.member("sample", sample) }
            writer.member(notes)
            writer.member(count.plan)
        }
    }
}

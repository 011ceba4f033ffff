// POST /v1/apps/{app}/audience/count
// GET /v1/apps/{app}/audience/count

import HTTPApplication
import HTTPTypes
import HTTPWire
import PushRegistry
import StrictJSON

extension RegistryService {
    var countAudience: Route {
        audienceRoute("/count") { request, call in
            let body = try await request.parsedJSON { bytes in
                try AudienceBody.parse(
                    bytes, in: vocabulary(of: call.app), members: ["explain", "sample", "kind", "name", "asOf"],
                    CountOptions.init)
            }
            let audience = try await audience(body, for: call)
            if let day = body.options.asOf {
                let count = try await recorded(audience) { try await audiences.count(audience, on: day) }
                return .json(JSONWriter(count, AudienceNote.notes(on: audience, of: body, unknown: [])))
            }
            let count = try await audiences.count(audience, explains: body.explains)
            let sample = try await sample(of: audience, body.options)
            let notes = AudienceNote.notes(on: audience, of: body, unknown: count.unknown)
            return .json(JSONWriter(count, notes, sample: sample))
        }
    }

    /// The first opaque ids of the audience, those of marketing's first page; nil if none are wanted.
    private func sample(of audience: Audience, _ options: CountOptions) async throws -> [String]? {
        guard let limit = options.sample else { return nil }
        let page = try await audiences.page(audience, from: .opaqueID(after: nil), limit: limit, explains: false)
        return page.items.compactMap(\.opaqueID?.text)
    }

    /// Counts by a flat filter in the query.
    var countAudienceByQuery: Route {
        appRoute(.get, Self.audiencePattern + "/count", allowing: Self.audienceRoles) { request, call in
            let query = try FilterQuery(request, in: vocabulary(of: call.app))
            let audience = try await audience(query, for: call)
            let count =
                if let day = query.body.options {
                    try await recorded(audience, isQuery: true) { try await audiences.count(audience, on: day) }
                } else {
                    try await audiences.count(audience, explains: false)
                }
            let notes = AudienceNote.notes(on: audience, of: query.body, unknown: count.unknown) {
                .parameter(query.parameter(at: $0) ?? "segment")
            }
            return .json(JSONWriter(count, notes))
        }
    }
}

/// The members `sample` and `asOf`.
private struct CountOptions: Sendable {
    private static let allowed: ClosedRange<Int64> = 1...20

    /// Nil if no sample is wanted.
    let sample: Int?
    /// Nil: the present.
    let asOf: CalendarDay?

    /// Nil after a fault.
    init?(_ root: JSONObject) {
        let number = root.integer("sample", in: Self.allowed)
        guard let asOf = root.asOf(without: ["sample", "explain"]), (number == nil) == (root.value("sample") == nil)
        else { return nil }
        (sample, self.asOf) = (number.map { Int($0) }, asOf)
    }
}

extension JSONWriter {
    /// `{count, asOf, sample?, notes?}`.
    init(_ count: AudienceCount, _ notes: [AudienceNote], sample: [String]? = nil) {
        self.init { writer in
            writer.member("count", count.count)
            writer.member("asOf", count.asOf.description)
            if let sample { writer.member("sample", sample) }
            writer.member(notes)
            writer.member(count.plan)
        }
    }
}

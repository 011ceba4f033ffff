// PUT /v1/apps/{app}/segments/{name}
// GET /v1/apps/{app}/segments/{name}
// GET /v1/apps/{app}/segments
// DELETE /v1/apps/{app}/segments/{name}

import Basics
import Crypto
import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    static let segmentsPattern = "/v1/apps/{app}/segments"
    static let segmentPattern = segmentsPattern + "/{name}"

    /// Saves a filter under the name. It replaces a saved one.
    var putSegment: Route {
        appRoute(
            .put, Self.segmentPattern, allowing: [.marketing], bodyBytesMax: AudienceLimits.segmentBytesMax
        ) { request, call in
            let body = try await request.parsedJSON { try SegmentBody.parse($0, in: vocabulary(of: call.app)) }
            try call.caller.requireMayName(usersOf: body.filter)
            let name = try request.identifier("name", SegmentName.init)
            let precondition = try ETag.revisionPrecondition(request)
            let entry = AuditEntry(.segmentSaved, name.rawValue, by: call.caller, in: request)
            let (segment, isNew) = try await segments.put(
                name, filter: body.text, description: body.description, uses: Set(body.filter.segments.map(\.name)),
                topics: Set(body.filter.topics.map(\.number)), in: call.app.number, recording: entry
            ) { definitions, present in
                try check(body.filter, savedAs: name, definitions, of: call.app)
                try precondition?.check(present)
            }
            audit.changed(entry, by: call.caller, in: request)
            return .segment(segment, revision: segment.revision, status: isNew ? .created : .ok)
        }
    }

    /// - Throws: `APIError.segmentCycle`; `JSONFaults` for other faults of segments.
    private func check(
        _ filter: AudienceFilter, savedAs name: SegmentName, _ definitions: [SegmentName: String], of app: App
    ) throws {
        var expansion = SegmentExpansion(try definitions.mapValues(filters(of: app).saved))
        let faults = expansion.expand(filter, savedAs: name).faults.map(JSONFault.init)
        if faults.contains(where: { $0.code == .segmentCycle }) { throw APIError.segmentCycle(faults) }
        if !faults.isEmpty { throw JSONFaults(faults) }
    }

    /// The segments as the caller may see them (R14). Instead of a filter with ids of users, marketing gets the
    /// segment's name as a filter, which it cannot save under this name.
    func shown(_ segments: [Segment], to call: AppCall) async throws -> [Segment] {
        guard !call.caller.mayNameUsers else { return segments }
        let filters = filters(of: call.app)
        return try await parsing(segments.reduce(0) { $0 + $1.filter.utf8.count }) {
            try segments.map { segment in
                guard try filters.namesUsers(segment.filter) else { return segment }
                return Segment(
                    name: segment.name, filter: #"{"segment":"\#(segment.name)"}"#, description: segment.description,
                    updatedAt: segment.updatedAt)
            }
        }
    }

    var getSegment: Route {
        appRoute(.get, Self.segmentPattern, allowing: Self.audienceRoles) { request, call in
            guard let name = try? SegmentName(request.parameters["name"]),
                let segment = try await segments.segment(name, of: call.app.number)
            else { throw APIError.unknownSegment }
            return .segment(try await shown([segment], to: call)[0], revision: segment.revision)
        }
    }

    /// Pages are in the order of the names.
    var listSegments: Route {
        appRoute(.get, Self.segmentsPattern, allowing: Self.audienceRoles) { request, call in
            let page = try PageRequest(request) { try? SegmentName($0) }
            let found = try await segments.segments(of: call.app.number, after: page.after, limit: page.limit)
            let shown = try await shown(Array(found.prefix(page.limit)), to: call)
            return .json(capacity: 4_096) { writer in
                writer.array("segments", shown) { $0.member($1) }
                let last = found.count > page.limit ? found[page.limit - 1] : nil
                writer.member("next", last?.name.rawValue)
            }
        }
    }

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

extension ServerResponse {
    /// - Parameter revision: that of the saved segment.
    static func segment(
        _ segment: Segment, revision: String, status: HTTPResponse.Status = .ok
    ) -> ServerResponse {
        .json(JSONWriter(segment), status: status, fields: [.eTag: ETag.make(revision)])
    }
}

extension Segment {
    /// A digest of the filter and its description, for conditional changes.
    var revision: String {
        let digest = SHA256.hash(data: Array("\(filter)\u{0}\(description ?? "")".utf8))
        return String(hex: digest.prefix(16))
    }
}

extension RevisionPrecondition {
    /// - Throws: `APIError.changedMeanwhile`.
    func check(_ present: Segment?) throws(APIError) {
        guard !holds(for: present?.revision) else { return }
        throw .changedMeanwhile(revision: present?.revision)
    }
}

/// `{filter, description?}`.
private struct SegmentBody {
    static let descriptionScalarsMax = 1_024

    let filter: AudienceFilter
    /// The filter's JSON text, as it was sent.
    let text: String
    let description: String?

    static func parse(_ body: [UInt8], in vocabulary: FilterVocabulary) throws -> SegmentBody {
        let document = try JSONDocument(body, depthMax: AudienceLimits.jsonDepthMax, refusesNull: true)
        guard let root = document.root.object() else { throw JSONFaults(document.faults) }
        root.refuseUnknownMembers(besides: ["filter", "description"])
        let value = root.required("filter")
        let filter = value.map { FilterReader(vocabulary: vocabulary).filter($0) }
        let description = root.string("description", scalarsMax: descriptionScalarsMax)
        try document.check()
        guard let value, let filter else { throw StoreError.failed("a segment's body lacks a filter and a fault") }
        return SegmentBody(
            filter: filter, text: String(decoding: value.rawBytes, as: UTF8.self), description: description)
    }
}

extension JSONWriter {
    /// `{name, filter, description, updatedAt}`.
    init(_ segment: Segment) {
        self.init(capacity: segment.filter.utf8.count + 256)
        member(segment)
    }

    mutating func member(_ segment: Segment) {
        object { writer in
            writer.member("name", segment.name.rawValue)
            writer.name("filter")
            writer.raw(segment.filter.utf8)
            writer.member("description", segment.description)
            writer.member("updatedAt", segment.updatedAt.description)
        }
    }
}

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

// Shared by the endpoints of audiences.
extension RegistryService {
    static let audiencePattern = "/v1/apps/{app}/audience"
    static let audienceRoles: Roles = [.marketing, .sender]

    /// A call of an audience with a body.
    func audienceRoute(
        _ path: String, handler: @escaping @Sendable (ServerRequest, AppCall) async throws -> ServerResponse
    ) -> Route {
        appRoute(
            .post, Self.audiencePattern + path, allowing: Self.audienceRoles, bodyBytesMax: AudienceLimits.bodyBytesMax,
            handler: handler)
    }

    /// The audience of a body, with its segments expanded.
    ///
    /// - Throws: `JSONFaults` for segments that cannot be expanded; 403 as `Caller.requireMayName`.
    func audience<Options: Sendable>(_ body: AudienceBody<Options>, for call: AppCall) async throws -> Audience {
        try call.caller.requireMayName(usersOf: body.filter)
        let (filter, faults) = try await filters(of: call.app).expanded(body.filter, in: call.app.number)
        if !faults.isEmpty { throw JSONFaults(faults.map(JSONFault.init)) }
        try call.caller.requireMayName(usersOf: filter)
        return Audience(filter, include: body.include, tokens: body.tokens, of: call.app)
    }

    func audience(_ query: FilterQuery, for call: AppCall) async throws -> Audience {
        do {
            return try await audience(query.body, for: call)
        } catch let error as JSONFaults {
            throw APIError.invalidParameters(error.faults.map { .query("segment", $0.code.rawValue, $0.detail) })
        }
    }

    func filters(of app: App) -> FilterResolver {
        FilterResolver(segments: segments, vocabulary: vocabulary(of: app))
    }

    func vocabulary(of app: App) -> FilterVocabulary { FilterVocabulary(links: links, topics: app.topics) }
}

extension Caller {
    /// Whether the caller may know ids of users (R14). Marketing may not.
    var mayNameUsers: Bool { has(any: [.service, .sender]) }

    /// - Throws: 403 if the filter compares with ids of users, also in segments that are expanded.
    func requireMayName(usersOf filter: AudienceFilter) throws(RefusedCall) {
        guard filter.namesUsers, !mayNameUsers else { return }
        throw RefusedCall(
            .forbidden(
                "userId with in or nin requires a key with the role sender or service: it identifies persons. "
                    + "Use {\"userId\": {\"exists\": true}}, or a segment without user ids."), self)
    }
}

extension SegmentExpansion.Fault {
    var code: JSONFault.Code {
        switch self {
        case .unknown: .unknownSegment
        case .cycle: .segmentCycle
        case .tooDeep: .tooDeep
        case .tooManyValues: .tooManyValues
        }
    }

    var detail: String {
        switch self {
        case .unknown: "The app has no such segment. GET /v1/apps/{app}/segments lists them."
        case .cycle: "This segment contains itself."
        case .tooDeep: "Segments may be nested at most \(SegmentExpansion.nestingMax) deep."
        case .tooManyValues: AudienceFilter.sizeLimit + ", its segments included."
        }
    }

    fileprivate var pointer: String {
        switch self {
        case .unknown(let reference), .cycle(let reference), .tooDeep(let reference): reference.pointer
        case .tooManyValues: "/filter"
        }
    }
}

extension JSONFault {
    init(_ fault: SegmentExpansion.Fault) {
        self.init(pointer: fault.pointer, code: fault.code, detail: fault.detail)
    }
}

extension JSONWriter {
    /// The member `explain`, if the request has it.
    mutating func member(_ plan: AudiencePlan?) {
        guard let plan else { return }
        object("explain") { writer in
            writer.member("path", plan.path.rawValue)
            writer.member("estimatedRows", plan.estimatedRows)
        }
    }
}

/// Expands the segments of an app in filters.
struct FilterResolver: Sendable {
    let segments: any SegmentStore
    let vocabulary: FilterVocabulary

    /// The simplified filter with its segments expanded, and the faults of the segments.
    func expanded(
        _ filter: AudienceFilter, in app: AppNumber
    ) async throws -> (filter: AudienceFilter, faults: [SegmentExpansion.Fault]) {
        let names = Set(filter.segments.map(\.name))
        guard !names.isEmpty else { return (filter.simplified, []) }
        let definitions = try await segments.definitions(of: names, in: app)
        return try await parsing(definitions.values.reduce(0) { $0 + $1.utf8.count }) {
            var expansion = SegmentExpansion(try definitions.mapValues(saved))
            return expansion.expand(filter)
        }
    }

    /// Whether a saved filter compares with ids of users. Those of segments that it names are missing.
    func namesUsers(_ text: String) throws -> Bool {
        let document = try JSONDocument(Array(text.utf8), depthMax: AudienceLimits.jsonDepthMax, refusesNull: true)
        return FilterReader(vocabulary: vocabulary).filter(document.root).namesUsers
    }

    /// Parses a saved filter. It was valid when it was saved, and its topics cannot be deleted.
    func saved(_ text: String) throws -> AudienceFilter {
        let document = try JSONDocument(Array(text.utf8), depthMax: AudienceLimits.jsonDepthMax, refusesNull: true)
        let filter = FilterReader(vocabulary: vocabulary).filter(document.root)
        guard document.faults.allSatisfy({ $0.code == .unknownTopic }) else {
            throw StoreError.failed("a segment's filter cannot be read")
        }
        // The topic is newer than the directory that this call has read.
        guard document.faults.isEmpty else { throw StoreError.unavailable }
        return filter
    }
}

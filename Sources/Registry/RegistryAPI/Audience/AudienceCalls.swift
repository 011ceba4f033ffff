import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

// Shared by the endpoints of audiences.
extension RegistryService {
    static let audiencePattern = "/v1/apps/{app}/audience"
    static let audienceRoles: Roles = [.marketing, .sender]

    /// The audience of a body, with its segments expanded.
    ///
    /// - Throws: `JSONFaults` for segments that cannot be expanded.
    func audience<Options: Sendable>(_ body: AudienceBody<Options>, of app: App) async throws -> Audience {
        let (filter, faults) = try await filters(of: app).expanded(body.filter, in: app.number)
        if !faults.isEmpty { throw JSONFaults(faults.map(JSONFault.init)) }
        return Audience(filter, include: body.include, tokens: body.tokens, of: app)
    }

    func audience(_ query: FilterQuery, of app: App) async throws -> Audience {
        do {
            return try await audience(query.body, of: app)
        } catch let error as JSONFaults {
            throw APIError.invalidParameters(error.faults.map { .query("segment", $0.code.rawValue, $0.detail) })
        }
    }

    func filters(of app: App) -> FilterResolver {
        FilterResolver(segments: segments, vocabulary: vocabulary(of: app))
    }

    func vocabulary(of app: App) -> FilterVocabulary { FilterVocabulary(links: links, topics: app.topics) }
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
        case .tooManyValues: "A filter may have at most \(AudienceFilter.valuesMax) values, its segments included."
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
        name("explain")
        object { writer in
            writer.member("path", plan.path.rawValue)
            writer.member("estimatedRows", plan.estimatedRows)
        }
    }
}

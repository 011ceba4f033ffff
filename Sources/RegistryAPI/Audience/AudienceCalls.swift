import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

// What the audience's endpoints share.
extension RegistryService {
    static let audiencePattern = "/v1/apps/{app}/audience"
    static let audienceRoles: Set<Role> = [.marketing, .sender]

    /// The audience of a body, with the segments put in.
    ///
    /// - Throws: `JSONFaults` for a segment that is not there.
    func audience<Options>(_ body: AudienceBody<Options>, of app: App) async throws -> Audience {
        let (filter, faults) = try await filters.expanded(body.filter, in: app.number)
        if !faults.isEmpty { throw JSONFaults(faults.map(JSONFault.init)) }
        return Audience(app: app.number, filter: filter, include: body.include)
    }

    func audience(_ query: FilterQuery, of app: App) async throws -> Audience {
        let (filter, faults) = try await filters.expanded(query.filter, in: app.number)
        if !faults.isEmpty {
            throw APIError.invalidParameters(
                faults.map { ParameterFault(parameter: "segment", code: $0.code.rawValue, detail: $0.detail) })
        }
        return Audience(app: app.number, filter: filter, include: query.include)
    }

    var filters: FilterResolver { FilterResolver(segments: segments, links: links) }
}

extension SegmentExpansion.Fault {
    var code: JSONFault.Code {
        switch self {
        case .unknown: .unknownSegment
        case .cycle: .segmentCycle
        case .tooDeep: .tooDeep
        case .tooWide: .tooWide
        }
    }

    var detail: String {
        switch self {
        case .unknown: "The app has no such segment. GET /v1/apps/{app}/segments lists them."
        case .cycle: "This segment leads back to itself."
        case .tooDeep: "Segments name segments at most \(SegmentExpansion.nestingMax) times over."
        case .tooWide: "With its segments a filter has at most \(AudienceFilter.widthMax) values."
        }
    }

    fileprivate var place: String {
        switch self {
        case .unknown(let reference), .cycle(let reference), .tooDeep(let reference): reference.place
        case .tooWide: "/filter"
        }
    }
}

extension JSONFault {
    init(_ fault: SegmentExpansion.Fault) {
        self.init(pointer: fault.place, code: fault.code, detail: fault.detail)
    }
}

extension JSONWriter {
    /// How the answer was found, where that was asked for.
    mutating func member(_ plan: AudiencePlan?) {
        guard let plan else { return }
        name("explain")
        object { writer in
            writer.member("path", plan.path.rawValue)
            writer.member("estimatedRows", plan.estimatedRows)
        }
    }
}

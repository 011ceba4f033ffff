/// Puts saved filters where a filter names them.
public struct SegmentExpansion: Sendable {
    /// Why a filter cannot be expanded.
    public enum Fault: Error, Hashable, Sendable {
        case unknown(SegmentReference)
        /// The segment leads back to itself.
        case cycle(SegmentReference)
        /// Segments name segments more than `nestingMax` times over.
        case tooDeep(SegmentReference)
        /// The filter with its segments has more than `AudienceFilter.widthMax` values.
        case tooWide
    }

    /// How many segments may lie in one another.
    public static let nestingMax = 16

    private let definitions: [SegmentName: AudienceFilter]
    private var expanded: [SegmentName: AudienceFilter] = [:]
    /// Of each expanded segment: how many values it has, those that a simplification dropped included.
    private var widths: [SegmentName: Int] = [:]
    private var path: Set<SegmentName> = []
    private var faults: [Fault] = []

    /// - Parameter definitions: the segments that the filter names, and those that they name.
    public init(_ definitions: [SegmentName: AudienceFilter]) {
        self.definitions = definitions
    }

    /// The filter simplified and without a name of a segment, or all that is wrong. Faults and values are looked for in
    /// the filters as they were sent: nothing hides behind what is true or false of everybody.
    ///
    /// - Parameter name: what the filter is about to be saved as: naming it would be a cycle.
    public mutating func expand(
        _ filter: AudienceFilter, savedAs name: SegmentName? = nil
    ) -> (filter: AudienceFilter, faults: [Fault]) {
        faults = []
        path = name.map { [$0] } ?? []
        (expanded, widths) = ([:], [:])
        let result = filter.mapSegments { reference(at: $0) }
        if !faults.contains(.tooWide), width(of: filter) > AudienceFilter.widthMax { faults.append(.tooWide) }
        return (result, faults)
    }

    /// What the reference stands for. A fault inside a segment is told of the reference in the filter that was sent.
    private mutating func reference(at reference: SegmentReference) -> AudienceFilter {
        do throws(Fault) {
            return try expansion(of: reference.name, at: reference)
        } catch {
            faults.append(error)
            return .nobody
        }
    }

    private mutating func expansion(
        of name: SegmentName, at reference: SegmentReference
    ) throws(Fault) -> AudienceFilter {
        if let known = expanded[name] { return known }
        guard !path.contains(name) else { throw .cycle(reference) }
        guard path.count < Self.nestingMax else { throw .tooDeep(reference) }
        guard let definition = definitions[name] else { throw .unknown(reference) }
        path.insert(name)
        defer { path.remove(name) }
        let filter = try definition.mapSegments { (inner) throws(Fault) in
            try expansion(of: inner.name, at: reference)
        }
        // Segments that name segments twice double with each step: nobody needs the result of what is too wide already.
        let width = width(of: definition)
        guard width <= AudienceFilter.widthMax else { throw .tooWide }
        (expanded[name], widths[name]) = (filter, width)
        return filter
    }

    /// How many values a filter has, those of its segments included; at most one more than are allowed.
    private func width(of filter: AudienceFilter) -> Int {
        switch filter {
        case .all(let parts), .any(let parts):
            parts.reduce(0) { min($0 + width(of: $1), AudienceFilter.widthMax + 1) }
        case .not(let part): width(of: part)
        case .segment(let reference): widths[reference.name] ?? 0
        case .condition: min(filter.width, AudienceFilter.widthMax + 1)
        }
    }
}

extension AudienceFilter {
    /// The same filter without parts that are true or false of everybody.
    public var simplified: AudienceFilter {
        mapSegments { .segment($0) }
    }

    /// The filter with something in the place of each name of a segment, all of which are asked for. What is constant
    /// then does not grow.
    func mapSegments<Failure: Error>(
        _ transform: (SegmentReference) throws(Failure) -> AudienceFilter
    ) throws(Failure) -> AudienceFilter {
        switch self {
        case .all(let parts):
            var mapped: [AudienceFilter] = []
            for part in parts { mapped.append(try part.mapSegments(transform)) }
            return .allOf(mapped)
        case .any(let parts):
            var mapped: [AudienceFilter] = []
            for part in parts { mapped.append(try part.mapSegments(transform)) }
            return .anyOf(mapped)
        case .not(let part): return .negation(try part.mapSegments(transform))
        case .condition(_, .oneOf(let values)): return values.isEmpty ? .nobody : self
        case .condition: return self
        case .segment(let reference): return try transform(reference)
        }
    }

    /// All of these, without what is true of everybody.
    public static func allOf(_ parts: [AudienceFilter]) -> AudienceFilter {
        if parts.contains(.nobody) { return .nobody }
        let rest = parts.filter { $0 != .everybody }
        return rest.count == 1 ? rest[0] : .all(rest)
    }

    /// One of these, without what is true of nobody.
    public static func anyOf(_ parts: [AudienceFilter]) -> AudienceFilter {
        if parts.contains(.everybody) { return .everybody }
        let rest = parts.filter { $0 != .nobody }
        return rest.count == 1 ? rest[0] : .any(rest)
    }

    public static func negation(_ part: AudienceFilter) -> AudienceFilter {
        switch part {
        case .everybody: .nobody
        case .nobody: .everybody
        default: .not(part)
        }
    }
}

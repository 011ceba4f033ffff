/// Replaces each segment that a filter names by its saved filter.
public struct SegmentExpansion: Sendable {
    /// Why a filter cannot be expanded.
    public enum Fault: Error, Hashable, Sendable {
        case unknown(SegmentReference)
        /// The segment contains itself.
        case cycle(SegmentReference)
        /// Segments are nested more than `nestingMax` deep.
        case tooDeep(SegmentReference)
        /// The filter with its segments has too many values (`AudienceFilter.Size`).
        case tooManyValues
    }

    /// How deep segments may be nested.
    public static let nestingMax = 16

    private let definitions: [SegmentName: AudienceFilter]
    private var expanded: [SegmentName: AudienceFilter] = [:]
    /// The number of values of each expanded segment, before simplification.
    private var sizes: [SegmentName: AudienceFilter.Size] = [:]
    private var path: Set<SegmentName> = []
    private var faults: [Fault] = []

    /// - Parameter definitions: the filters of all segments that the filter names, directly or through others.
    public init(_ definitions: [SegmentName: AudienceFilter]) {
        self.definitions = definitions
    }

    /// The simplified filter without references to segments, or all faults. Faults are found and values are counted
    /// before simplification, so that a constant part of a filter hides none.
    ///
    /// - Parameter name: the name under which the filter will be saved. A reference to it is a cycle.
    public mutating func expand(
        _ filter: AudienceFilter, savedAs name: SegmentName? = nil
    ) -> (filter: AudienceFilter, faults: [Fault]) {
        faults = []
        path = name.map { [$0] } ?? []
        (expanded, sizes) = ([:], [:])
        let result = filter.mapSegments { expansion(of: $0) }
        if !faults.contains(.tooManyValues), size(of: filter).isTooLarge {
            faults.append(.tooManyValues)
        }
        return (result, faults)
    }

    /// The filter of a segment. A fault inside a segment is reported at the reference in the filter that was sent.
    private mutating func expansion(of reference: SegmentReference) -> AudienceFilter {
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
        // A chain of segments that each name the next one twice doubles at each step: stop at the limit.
        let size = size(of: definition)
        guard !size.isTooLarge else { throw .tooManyValues }
        (expanded[name], sizes[name]) = (filter, size)
        return filter
    }

    /// The number of values, those of segments included.
    private func size(of filter: AudienceFilter) -> AudienceFilter.Size {
        filter.size { sizes[$0.name] ?? AudienceFilter.Size() }
    }
}

extension AudienceFilter {
    /// The same filter without parts that are always true or always false.
    public var simplified: AudienceFilter {
        mapSegments { .segment($0) }
    }

    /// The simplified filter with each reference to a segment replaced. `transform` is called for every reference, also
    /// in parts that simplification drops.
    func mapSegments<Failure: Error>(
        _ transform: (SegmentReference) throws(Failure) -> AudienceFilter
    ) throws(Failure) -> AudienceFilter {
        switch self {
        case .all(let parts):
            return .allOf(try parts.map { (part) throws(Failure) in try part.mapSegments(transform) })
        case .any(let parts):
            return .anyOf(try parts.map { (part) throws(Failure) in try part.mapSegments(transform) })
        case .not(let part): return .negation(try part.mapSegments(transform))
        case .condition(_, .oneOf(let values)): return values.isEmpty ? .nobody : self
        case .condition: return self
        case .segment(let reference): return try transform(reference)
        }
    }

    /// The conjunction of the parts, simplified.
    public static func allOf(_ parts: [AudienceFilter]) -> AudienceFilter {
        if parts.contains(.nobody) { return .nobody }
        let rest = parts.filter { $0 != .everybody }
        return rest.count == 1 ? rest[0] : .all(rest)
    }

    /// The disjunction of the parts, simplified.
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

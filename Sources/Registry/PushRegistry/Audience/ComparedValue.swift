/// A field and a value that a filter compares it with.
public struct ComparedValue: Hashable, Sendable {
    public let field: AudienceField
    public let value: AudienceValue

    public init(_ field: AudienceField, _ value: AudienceValue) {
        self.field = field
        self.value = value
    }
}

/// A value of a filter that no installation of the app has or had, usually a mistake.
public struct UnknownValue: Hashable, Sendable {
    public let compared: ComparedValue
    /// The most similar value that some installation has.
    public let nearest: String?

    public init(_ compared: ComparedValue, nearest: String?) {
        self.compared = compared
        self.nearest = nearest
    }
}

extension AudienceFilter {
    /// The values of `eq`, `ne`, `in` and `nin`, in the order of the filter.
    public var comparedValues: [ComparedValue] {
        switch self {
        case .all(let parts), .any(let parts): parts.flatMap(\.comparedValues)
        case .not(let part): part.comparedValues
        case .condition(let field, .oneOf(let values)): values.map { ComparedValue(field, $0) }
        case .condition, .segment: []
        }
    }
}

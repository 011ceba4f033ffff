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

/// A calendar day without a time zone, such as `2026-11-22`.
public struct CalendarDay: Hashable, Sendable, CustomStringConvertible {
    /// RFC 3339, `full-date`.
    public let description: String

    /// - Throws: `InvalidValue` with the code `invalid-date`.
    public init(_ text: String) throws(InvalidValue) {
        guard text.utf8.count == 10, Timestamp(text + "T00:00:00Z") != nil else {
            throw InvalidValue(code: "invalid-date", detail: "This must be a day such as 2026-11-22.")
        }
        description = text
    }
}

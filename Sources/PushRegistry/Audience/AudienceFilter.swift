/// Which installations are meant: a tree of conditions, each of which is true or false of an installation and never
/// anything else (R16). `ne`, `nin` and `exists: false` are the negations of their positive twins.
public indirect enum AudienceFilter: Hashable, Sendable {
    /// All must hold; of none, everybody.
    case all([AudienceFilter])
    /// One must hold; of none, nobody.
    case any([AudienceFilter])
    case not(AudienceFilter)
    /// False of an installation that has no value of the field.
    case condition(AudienceField, AudienceTest)
    /// Whatever is saved under the name.
    case segment(SegmentReference)

    /// How deep filters nest: the root is 1, each `all`, `any` and `not` one more.
    public static let depthMax = 8
    /// How many values a filter has, those of its segments included.
    public static let widthMax = 1_000

    public static let everybody = AudienceFilter.all([])
    public static let nobody = AudienceFilter.any([])
}

/// What a condition asks of a field's value.
public enum AudienceTest: Hashable, Sendable {
    /// There is a value.
    case exists
    /// The value is one of these, or lies in one of these locales. Of none, nobody.
    case oneOf([AudienceValue])
    case ordered(AudienceOrder, AudienceValue)
    /// Not longer ago than this.
    case within(ISO8601Duration)
    case between(LocalTimeRange)
    case near(Circle)

    fileprivate var width: Int {
        switch self {
        case .oneOf(let values): values.count
        case .between: 2
        case .exists, .ordered, .within, .near: 1
        }
    }
}

/// How a value compares with the condition's.
public enum AudienceOrder: Hashable, Sendable {
    case less, lessOrEqual, greater, greaterOrEqual

    /// Whether `left` compares so with `right`.
    public func holds<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch self {
        case .less: left < right
        case .lessOrEqual: left <= right
        case .greater: left > right
        case .greaterOrEqual: left >= right
        }
    }
}

/// A value of a condition, of its field's kind.
public enum AudienceValue: Hashable, Sendable {
    /// A name of a closed list, an exact text, or a time zone without links.
    case text(String)
    case locale(LocaleIdentifier)
    case version(Version)
    /// Seconds east of UTC.
    case offset(Int64)
    case time(Timestamp)
    case flag(Bool)
}

extension AudienceFilter {
    /// How many values there are, those of unexpanded segments not counted.
    public var width: Int {
        switch self {
        case .all(let parts), .any(let parts): parts.reduce(0) { $0 + $1.width }
        case .not(let part): part.width
        case .condition(_, let test): test.width
        case .segment: 0
        }
    }

    /// The fields that conditions are about.
    public var fields: Set<AudienceField> {
        switch self {
        case .all(let parts), .any(let parts): parts.reduce(into: []) { $0.formUnion($1.fields) }
        case .not(let part): part.fields
        case .condition(let field, _): [field]
        case .segment: []
        }
    }

    /// The segments that are named, in order and each as often as it is.
    public var segments: [SegmentReference] {
        switch self {
        case .all(let parts), .any(let parts): parts.flatMap(\.segments)
        case .not(let part): part.segments
        case .condition: []
        case .segment(let reference): [reference]
        }
    }
}

/// Which installations count, whatever the filter.
public enum AudienceInclude: String, CaseIterable, Hashable, Sendable {
    /// A push would be let through.
    case reachable
    /// The state is `active`, whatever the user allows.
    case active
    case all
}

/// Installations of an app.
public struct Audience: Hashable, Sendable {
    public let app: AppNumber
    /// Without segments.
    public let filter: AudienceFilter
    public let include: AudienceInclude

    public init(app: AppNumber, filter: AudienceFilter, include: AudienceInclude) {
        self.app = app
        self.filter = filter
        self.include = include
    }
}

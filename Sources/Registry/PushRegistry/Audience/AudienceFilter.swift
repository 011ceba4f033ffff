import Basics

/// A tree of conditions that selects installations. Each condition is either true or false of an installation, never
/// unknown (R16): `ne`, `nin` and `exists: false` negate `eq`, `in` and `exists: true`.
public indirect enum AudienceFilter: Hashable, Sendable {
    /// All parts are true. An empty list selects every installation.
    case all([AudienceFilter])
    /// At least one part is true. An empty list selects no installation.
    case any([AudienceFilter])
    case not(AudienceFilter)
    /// False of an installation without a value of the field.
    case condition(AudienceField, FieldPredicate)
    /// The filter that is saved under the name.
    case segment(SegmentReference)

    /// How deep filters nest: the root is 1, each `all`, `any` and `not` one more.
    public static let depthMax = 8
    /// How many values a filter has, those of its segments included. Ids of users count apart.
    public static let valuesMax = 1_000
    /// How many ids of users a filter has, those of its segments included.
    public static let usersMax = 10_000

    /// Selects every installation.
    public static let everybody = AudienceFilter.all([])
    /// Selects no installation.
    public static let nobody = AudienceFilter.any([])
}

/// The test that a condition applies to a field's value.
public enum FieldPredicate: Hashable, Sendable {
    /// There is a value.
    case exists
    /// The value is one of these, or a locale within one of these. An empty list is false of every installation.
    case oneOf([AudienceValue])
    case ordered(AudienceOrder, AudienceValue)
    /// At most this long ago.
    case within(ISO8601Duration)
    case between(LocalTimeRange)
    case near(Circle)

    fileprivate var valueCount: Int {
        switch self {
        case .oneOf(let values): values.count
        case .between: 2
        case .exists, .ordered, .within, .near: 1
        }
    }
}

/// How a field's value compares with the value of a condition.
public enum AudienceOrder: Hashable, Sendable {
    case less, lessOrEqual, greater, greaterOrEqual

    /// Whether the comparison of `left` with `right` is true.
    public func holds<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch self {
        case .less: left < right
        case .lessOrEqual: left <= right
        case .greater: left > right
        case .greaterOrEqual: left >= right
        }
    }
}

/// A value of a condition; its case follows from the field's `kind`.
public enum AudienceValue: Hashable, Sendable {
    /// A name of a closed list, an exact text, or a resolved time zone name.
    case text(ExactText)
    case locale(LocaleIdentifier)
    case version(Version)
    /// Seconds east of UTC.
    case offset(Int64)
    case time(Timestamp)
    case flag(Bool)
    case topic(Topic)
}

extension AudienceFilter {
    /// How many values a filter has.
    public struct Size: Hashable, Sendable {
        public fileprivate(set) var values = 0
        /// Ids of users.
        public fileprivate(set) var users = 0

        public var isTooLarge: Bool { values > AudienceFilter.valuesMax || users > AudienceFilter.usersMax }

        static func + (left: Size, right: Size) -> Size {
            Size(values: left.values + right.values, users: left.users + right.users)
        }
    }

    /// The number of values. Those of segments that are not expanded do not count.
    public var size: Size { size { _ in Size() } }

    func size(ofSegment: (SegmentReference) -> Size) -> Size {
        switch self {
        case .all(let parts), .any(let parts): parts.reduce(Size()) { $0 + $1.size(ofSegment: ofSegment) }
        case .not(let part): part.size(ofSegment: ofSegment)
        case .condition(.userID, .oneOf(let users)): Size(users: users.count)
        case .condition(_, let predicate): Size(values: predicate.valueCount)
        case .segment(let reference): ofSegment(reference)
        }
    }

    /// Whether the filter compares with ids of users. Those of segments that are not expanded are missing.
    public var namesUsers: Bool { size.users > 0 }

    /// The fields that the conditions test.
    public var fields: Set<AudienceField> {
        switch self {
        case .all(let parts), .any(let parts): parts.reduce(into: []) { $0.formUnion($1.fields) }
        case .not(let part): part.fields
        case .condition(let field, _): [field]
        case .segment: []
        }
    }

    /// The topics that the conditions name. Those of segments that are not expanded are missing.
    public var topics: Set<Topic> {
        Set(comparedValues.compactMap { if case .topic(let topic) = $0.value { topic } else { nil } })
    }

    /// All references to segments, in order, with duplicates.
    public var segments: [SegmentReference] {
        switch self {
        case .all(let parts), .any(let parts): parts.flatMap(\.segments)
        case .not(let part): part.segments
        case .condition: []
        case .segment(let reference): [reference]
        }
    }

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

/// Which installations count, in addition to the filter.
public enum AudienceInclude: String, CaseIterable, Hashable, Sendable {
    /// Installations that a push would reach.
    case reachable
    /// Installations in the state `active`, even if the user does not allow notifications.
    case active
    case all
}

/// Typed tokens that are handed out instead of the main ones. Installations without one are left out; one with several
/// has a row for each.
public struct HandedOutTokens: Hashable, Sendable {
    public let kind: TokenKind
    /// Nil: tokens under any name, and those without one.
    public let name: String?

    public init(_ kind: TokenKind, name: String?) {
        (self.kind, self.name) = (kind, name)
    }
}

/// The installations of an app that a filter selects.
public struct Audience: Hashable, Sendable {
    public let app: AppNumber
    /// Simplified; its segments are expanded.
    public let filter: AudienceFilter
    public let include: AudienceInclude
    /// The app's, for a breakdown by topic.
    public let topics: TopicCatalogue
    /// The app's, for opaque ids.
    public let identityKey: AppIdentityKey
    /// Nil: the main tokens.
    public let tokens: HandedOutTokens?

    public init(
        app: AppNumber, filter: AudienceFilter, include: AudienceInclude, topics: TopicCatalogue = TopicCatalogue(),
        identityKey: AppIdentityKey = AppIdentityKey(bytes: []), tokens: HandedOutTokens? = nil
    ) {
        (self.app, self.filter, self.include, self.topics) = (app, filter, include, topics)
        (self.identityKey, self.tokens) = (identityKey, tokens)
    }

    public init(_ filter: AudienceFilter, include: AudienceInclude, tokens: HandedOutTokens? = nil, of app: App) {
        self.init(
            app: app.number, filter: filter, include: include, topics: app.topics, identityKey: app.identityKey,
            tokens: tokens)
    }
}

/// A field and a value that a filter compares it with.
public struct ComparedValue: Hashable, Sendable {
    public let field: AudienceField
    public let value: AudienceValue

    public init(_ field: AudienceField, _ value: AudienceValue) {
        (self.field, self.value) = (field, value)
    }
}

/// A value of a filter that no installation of the app has or had, usually a mistake.
public struct UnknownValue: Hashable, Sendable {
    public let compared: ComparedValue
    /// The most similar value that some installation has.
    public let nearest: String?

    public init(_ compared: ComparedValue, nearest: String?) {
        (self.compared, self.nearest) = (compared, nearest)
    }
}

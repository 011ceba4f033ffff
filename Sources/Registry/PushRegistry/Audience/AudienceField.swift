import Basics

/// The fields of an installation that a filter can test, by their API names.
public enum AudienceField: String, CaseIterable, Hashable, Sendable {
    case provider, locale, language, region, timeZone, utcOffset, systemName, osVersion, appVersion, deviceModel
    case carrier, appStore
    /// How a sender addresses the installation; no value without a token.
    case addressKind
    case authorizationStatus, soundSetting, badgeSetting, alertSetting, notificationCenterSetting, lockScreenSetting
    case carPlaySetting, criticalAlertSetting, announcementSetting, alertStyle, showPreviewsSetting
    case providesAppNotificationSettings
    case userID = "userId"
    case lastSeenAt, createdAt, localTime, location
    /// The topics that the installation is subscribed to, by all choices and defaults.
    case topic
}

/// How a condition compares a field with its values.
public enum AudienceOperator: String, CaseIterable, Hashable, Sendable {
    case eq, ne, `in`, nin, gt, gte, lt, lte, exists, within, between, near
}

extension AudienceField {
    /// The type of a field's values.
    public enum Kind: Hashable, Sendable {
        /// One of a closed list of names; `unknown` is one of them.
        case choice([String])
        /// Any text, compared exactly.
        case text
        /// A locale matches itself and the more general ones: `de_AT` also matches `de`.
        case locale
        case timeZone
        case flag
        case version
        /// Seconds east of UTC.
        case offset
        /// A point in time.
        case time
        /// The id of a user, compared exactly. Ids identify persons: not every caller may name them.
        case user
        /// The time of day in the device's time zone.
        case localTime
        case location
        /// An installation has as many values as topics that it is subscribed to.
        case topic
    }

    public var kind: Kind {
        switch self {
        case .provider: .choice(Provider.allCases.map(\.rawValue))
        case .addressKind: .choice(AddressKind.allCases.map(\.rawValue))
        case .authorizationStatus: .choice(AuthorizationStatus.allCases.map(\.rawValue))
        case .soundSetting, .badgeSetting, .alertSetting, .notificationCenterSetting, .lockScreenSetting,
            .carPlaySetting, .criticalAlertSetting, .announcementSetting:
            .choice(NotificationSetting.allCases.map(\.rawValue))
        case .alertStyle: .choice(AlertStyle.allCases.map(\.rawValue))
        case .showPreviewsSetting: .choice(ShowPreviewsSetting.allCases.map(\.rawValue))
        case .language, .region, .systemName, .deviceModel, .carrier, .appStore: .text
        case .locale: .locale
        case .timeZone: .timeZone
        case .providesAppNotificationSettings: .flag
        case .osVersion, .appVersion: .version
        case .utcOffset: .offset
        case .lastSeenAt, .createdAt: .time
        case .userID: .user
        case .localTime: .localTime
        case .location: .location
        case .topic: .topic
        }
    }

    /// The operators that the field supports.
    public var operators: Set<AudienceOperator> {
        switch kind {
        case .choice, .text, .locale, .timeZone, .flag: [.eq, .ne, .in, .nin, .exists]
        case .version, .offset: [.eq, .ne, .in, .nin, .gt, .gte, .lt, .lte, .exists]
        case .time: [.eq, .ne, .in, .nin, .gt, .gte, .lt, .lte, .exists, .within]
        case .user: [.in, .nin, .exists]
        case .localTime: [.between]
        case .location: [.near, .exists]
        case .topic: [.eq, .ne, .in, .nin]
        }
    }

    /// Whether a breakdown can group by the field: it has few values, and none identifies a person.
    public var isDiscrete: Bool {
        switch kind {
        case .choice, .text, .locale, .timeZone, .flag, .version, .offset, .topic: true
        case .time, .user, .localTime, .location: false
        }
    }

    /// Whether the roll-up, and so the records of past days, have the field. They count choices about topics beside the
    /// cells.
    package var isOfCells: Bool {
        switch self {
        case .provider, .locale, .timeZone, .utcOffset, .localTime, .systemName, .osVersion, .authorizationStatus,
            .topic:
            true
        default: false
        }
    }

    /// Parses a value of the field.
    ///
    /// - Parameters:
    ///   - text: the digits of an offset, `true` or `false` for a flag.
    ///   - vocabulary: resolves time zone names as a registration does, and knows the topics.
    /// - Throws: `InvalidValue`; with the code `unknown-value` if the field's list does not have the name, and with
    ///   `unknown-topic` if the catalogue does not.
    public func value(_ text: String, in vocabulary: FilterVocabulary) throws(InvalidValue) -> AudienceValue {
        switch kind {
        case .choice(let names): return .text(ExactText(try Self.choice(text, of: names)))
        case .text: return .text(ExactText(self == .language ? LanguageAliases.canonical(text) : text))
        case .locale: return .locale(LocaleIdentifier(text))
        case .timeZone: return .text(ExactText(vocabulary.links.resolve(text)))
        case .flag: return .flag(try Self.flag(text))
        case .version: return .version(try Self.version(text))
        case .offset: return try Self.offset(Int64(text))
        case .time: return .time(try Self.time(text))
        case .topic: return .topic(try Self.topic(text, in: vocabulary.topics))
        case .user: return .text(ExactText(try UserID(text).rawValue))
        case .localTime, .location:
            throw InvalidValue(code: "operator-not-allowed", detail: "This field has no values to compare with.")
        }
    }

    /// - Throws: `InvalidValue` unless `seconds` is within `Device.timeZoneOffsets`.
    public static func offset(_ seconds: Int64?) throws(InvalidValue) -> AudienceValue {
        guard let seconds, Device.timeZoneOffsets.contains(seconds) else {
            let (least, most) = (Device.timeZoneOffsets.lowerBound, Device.timeZoneOffsets.upperBound)
            throw InvalidValue(code: "out-of-range", detail: "This must be seconds from \(least) to \(most).")
        }
        return .offset(seconds)
    }

    public static func flag(_ text: String) throws(InvalidValue) -> Bool {
        guard let flag = Bool(text) else {
            throw InvalidValue(code: "wrong-type", detail: "This must be true or false.")
        }
        return flag
    }

    private static func topic(_ text: String, in catalogue: TopicCatalogue) throws(InvalidValue) -> Topic {
        guard let topic = catalogue[text] else {
            throw InvalidValue(
                code: "unknown-topic", detail: "The app has no such topic. GET /v1/apps/{app}/topics lists them.")
        }
        return topic
    }

    private static func choice(_ text: String, of names: [String]) throws(InvalidValue) -> String {
        guard names.contains(text) else {
            throw InvalidValue(
                code: "unknown-value", detail: "This must be one of \(names.joined(separator: ", ")).")
        }
        return text
    }

    private static func version(_ text: String) throws(InvalidValue) -> Version {
        guard let version = Version(text) else {
            throw InvalidValue(
                code: "invalid-version", detail: "This must be a version that begins with a digit, such as 17.2.")
        }
        return version
    }

    private static func time(_ text: String) throws(InvalidValue) -> Timestamp {
        guard let time = Timestamp(text) else {
            throw InvalidValue(code: "invalid-time", detail: "This must be an RFC 3339 time with an offset.")
        }
        return time
    }
}

/// The time zones and topics by which the values of a filter are resolved.
public struct FilterVocabulary: Sendable {
    public let links: TimeZoneLinks
    /// The app's topics.
    public let topics: TopicCatalogue

    public init(links: TimeZoneLinks, topics: TopicCatalogue = TopicCatalogue()) {
        (self.links, self.topics) = (links, topics)
    }
}

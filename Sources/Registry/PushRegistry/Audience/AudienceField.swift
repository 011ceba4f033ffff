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
}

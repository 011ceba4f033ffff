/// What a filter may ask of an installation, by the names of the API.
public enum AudienceField: String, CaseIterable, Hashable, Sendable {
    case provider, locale, language, region, timeZone, utcOffset, systemName, osVersion, appVersion, deviceModel
    case carrier, appStore
    case authorizationStatus, soundSetting, badgeSetting, alertSetting, notificationCenterSetting, lockScreenSetting
    case carPlaySetting, criticalAlertSetting, announcementSetting, alertStyle, showPreviewsSetting
    case providesAppNotificationSettings
    case userID = "userId"
    case lastSeenAt, createdAt, localTime, location
}

/// What a condition does with its values.
public enum AudienceOperator: String, CaseIterable, Hashable, Sendable {
    case eq, ne, `in`, nin, gt, gte, lt, lte, exists, within, between, near
}

extension AudienceField {
    /// What the values of a field are.
    public enum Kind: Hashable, Sendable {
        /// One of a closed list of names; `unknown` is one of them.
        case choice([String])
        /// Any text, compared exactly.
        case text
        /// A locale, which lies in wider ones.
        case locale
        case timeZone
        case flag
        case version
        /// Seconds east of UTC.
        case offset
        /// A moment.
        case time
        /// Nothing but whether there is one.
        case presence
        /// The time of day where the device is.
        case localTime
        case location
    }

    public var kind: Kind {
        switch self {
        case .provider: .choice(Provider.allCases.map(\.rawValue))
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
        case .userID: .presence
        case .localTime: .localTime
        case .location: .location
        }
    }

    /// The operators that a condition on the field may have.
    public var operators: Set<AudienceOperator> {
        switch kind {
        case .choice, .text, .locale, .timeZone, .flag: [.eq, .ne, .in, .nin, .exists]
        case .version, .offset: [.eq, .ne, .in, .nin, .gt, .gte, .lt, .lte, .exists]
        case .time: [.eq, .ne, .in, .nin, .gt, .gte, .lt, .lte, .exists, .within]
        case .presence: [.exists]
        case .localTime: [.between]
        case .location: [.near, .exists]
        }
    }

    /// Whether installations can be grouped by the field: it has few values, and none that tells who somebody is.
    public var isDiscrete: Bool {
        switch kind {
        case .choice, .text, .locale, .timeZone, .flag, .version, .offset: true
        case .time, .presence, .localTime, .location: false
        }
    }
}

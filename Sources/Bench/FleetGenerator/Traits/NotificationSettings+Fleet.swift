import PushRegistry

extension NotificationSettings {
    /// Whether users allow notifications: 51 % on iOS and 81 % on Android (businessofapps.com, 2024); the other shares
    /// are estimates. A browser needs permission to subscribe.
    private static let authorization: [Platform: WeightedChoice<AuthorizationStatus>] = [
        .ios: WeightedChoice([
            (.authorized, 51), (.denied, 30), (.notDetermined, 12), (.provisional, 6), (.ephemeral, 1),
        ]),
        .android: WeightedChoice([(.authorized, 81), (.denied, 17), (.unknown, 2)]),
        .web: WeightedChoice([(.authorized, 90), (.unknown, 10)]),
    ]

    /// Only Apple's systems report more than the authorization.
    static func make(on platform: Platform, _ random: inout FleetRandom) -> NotificationSettings {
        var settings = NotificationSettings()
        settings.authorizationStatus = authorization[platform]?.pick(&random) ?? .unknown
        if platform == .ios { settings.setDetails(&random) }
        return settings
    }

    /// Estimated: most users keep the defaults.
    private mutating func setDetails(_ random: inout FleetRandom) {
        let isAllowed = authorizationStatus == .authorized || authorizationStatus == .ephemeral
        let enabled: (Double, inout FleetRandom) -> NotificationSetting = { probability, random in
            random.isTrue(isAllowed ? probability : 0.02) ? .enabled : .disabled
        }
        soundSetting = enabled(0.86, &random)
        badgeSetting = enabled(0.88, &random)
        alertSetting = enabled(0.93, &random)
        notificationCenterSetting = authorizationStatus == .provisional ? .enabled : enabled(0.95, &random)
        lockScreenSetting = enabled(0.9, &random)
        carPlaySetting = random.isTrue(0.8) ? .notSupported : enabled(0.7, &random)
        criticalAlertSetting = .notSupported
        announcementSetting = random.isTrue(0.55) ? .notSupported : enabled(0.2, &random)
        alertStyle = isAllowed ? (random.isTrue(0.94) ? .banner : .alert) : .none
        showPreviewsSetting = Self.previews.pick(&random)
        providesAppNotificationSettings = random.isTrue(0.35)
    }

    private static let previews = WeightedChoice<ShowPreviewsSetting>([
        (.whenAuthenticated, 60), (.always, 34), (.never, 6),
    ])

    /// The settings after a user has toggled some switches. For `count` from 1 to 255 the results differ from these
    /// settings and from each other.
    public func toggled(_ count: Int) -> NotificationSettings {
        var settings = self
        let paths: [WritableKeyPath<NotificationSettings, NotificationSetting>] = [
            \.soundSetting, \.badgeSetting, \.alertSetting, \.notificationCenterSetting, \.lockScreenSetting,
            \.carPlaySetting, \.criticalAlertSetting, \.announcementSetting,
        ]
        for (bit, path) in paths.enumerated() where count >> bit & 1 == 1 {
            settings[keyPath: path] = settings[keyPath: path] == .enabled ? .disabled : .enabled
        }
        return settings
    }
}

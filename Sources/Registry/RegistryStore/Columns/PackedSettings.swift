import PushRegistry

/// The twelve settings and the assumption of an import as one number, a hexadecimal digit each. A digit is the case's
/// index in its Swift type; the view `installation_settings` spells the same digits out.
enum PackedSettings {
    /// The index of a field's digit, from the lowest.
    static func digit(of field: AudienceField) -> Int? {
        fields.firstIndex(of: field)
    }

    private static let fields: [AudienceField] = [
        .authorizationStatus, .soundSetting, .badgeSetting, .alertSetting, .notificationCenterSetting,
        .lockScreenSetting, .carPlaySetting, .criticalAlertSetting, .announcementSetting, .alertStyle,
        .showPreviewsSetting, .providesAppNotificationSettings,
    ]

    /// The names of a field's digits, in the order of their codes.
    static func names(of field: AudienceField) -> [String]? {
        guard digit(of: field) != nil, case .choice(let names) = field.kind else { return nil }
        return names
    }

    static func encode(_ settings: NotificationSettings) -> Int64 {
        var (digits, settings) = (Digits(isReading: false), settings)
        pass(&settings, through: &digits)
        return digits.value
    }

    /// A digit that this binary does not know reads as `unknown`: a newer binary may have written it.
    static func decode(_ packed: Int64) -> NotificationSettings {
        var (digits, settings) = (Digits(isReading: true, value: packed), NotificationSettings())
        pass(&settings, through: &digits)
        return settings
    }

    /// The order of the digits, as in `fields`.
    @inline(__always)
    private static func pass(_ settings: inout NotificationSettings, through digits: inout Digits) {
        digits.pass(&settings.authorizationStatus)
        digits.pass(&settings.soundSetting)
        digits.pass(&settings.badgeSetting)
        digits.pass(&settings.alertSetting)
        digits.pass(&settings.notificationCenterSetting)
        digits.pass(&settings.lockScreenSetting)
        digits.pass(&settings.carPlaySetting)
        digits.pass(&settings.criticalAlertSetting)
        digits.pass(&settings.announcementSetting)
        digits.pass(&settings.alertStyle)
        digits.pass(&settings.showPreviewsSetting)
        let provides = digits.pass(code: settings.providesAppNotificationSettings.map { $0 ? 2 : 1 } ?? 0)
        settings.providesAppNotificationSettings = [1: false, 2: true][provides]
        settings.authorizationAssumed = digits.pass(code: settings.authorizationAssumed ? 1 : 0) == 1
    }

    /// Writes each digit, or reads it.
    private struct Digits {
        let isReading: Bool
        private(set) var value: Int64
        private var shift: Int64 = 0

        init(isReading: Bool, value: Int64 = 0) {
            (self.isReading, self.value) = (isReading, value)
        }

        mutating func pass<Setting: OpenSetting>(_ setting: inout Setting) where Setting.AllCases == [Setting] {
            let code = pass(code: isReading ? 0 : Setting.allCases.firstIndex(of: setting) ?? 0)
            if isReading { setting = code < Setting.allCases.count ? Setting.allCases[code] : .unknown }
        }

        mutating func pass(code: Int) -> Int {
            defer { shift += 4 }
            if isReading { return Int(value >> shift & 15) }
            value |= Int64(code) << shift
            return code
        }
    }
}

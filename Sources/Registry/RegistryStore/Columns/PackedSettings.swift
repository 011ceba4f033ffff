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
        switch field {
        case .authorizationStatus: AuthorizationStatus.allCases.map(\.rawValue)
        case .soundSetting, .badgeSetting, .alertSetting, .notificationCenterSetting, .lockScreenSetting,
            .carPlaySetting, .criticalAlertSetting, .announcementSetting:
            NotificationSetting.allCases.map(\.rawValue)
        case .alertStyle: AlertStyle.allCases.map(\.rawValue)
        case .showPreviewsSetting: ShowPreviewsSetting.allCases.map(\.rawValue)
        default: nil
        }
    }

    static func encode(_ settings: NotificationSettings) -> Int64 {
        var packed = Packer()
        packed.append(settings.authorizationStatus)
        packed.append(settings.soundSetting)
        packed.append(settings.badgeSetting)
        packed.append(settings.alertSetting)
        packed.append(settings.notificationCenterSetting)
        packed.append(settings.lockScreenSetting)
        packed.append(settings.carPlaySetting)
        packed.append(settings.criticalAlertSetting)
        packed.append(settings.announcementSetting)
        packed.append(settings.alertStyle)
        packed.append(settings.showPreviewsSetting)
        packed.append(code: settings.providesAppNotificationSettings.map { $0 ? 2 : 1 } ?? 0)
        packed.append(code: settings.authorizationAssumed ? 1 : 0)
        return packed.value
    }

    /// A digit that this binary does not know reads as `unknown`: a newer binary may have written it.
    static func decode(_ packed: Int64) -> NotificationSettings {
        var digits = Unpacker(value: packed)
        var settings = NotificationSettings()
        settings.authorizationStatus = digits.next()
        settings.soundSetting = digits.next()
        settings.badgeSetting = digits.next()
        settings.alertSetting = digits.next()
        settings.notificationCenterSetting = digits.next()
        settings.lockScreenSetting = digits.next()
        settings.carPlaySetting = digits.next()
        settings.criticalAlertSetting = digits.next()
        settings.announcementSetting = digits.next()
        settings.alertStyle = digits.next()
        settings.showPreviewsSetting = digits.next()
        settings.providesAppNotificationSettings = [1: false, 2: true][digits.nextCode()]
        settings.authorizationAssumed = digits.nextCode() == 1
        return settings
    }

    private struct Packer {
        var value: Int64 = 0
        private var shift: Int64 = 0

        mutating func append<Setting: OpenSetting>(_ setting: Setting) where Setting.AllCases == [Setting] {
            append(code: Int64(Setting.allCases.firstIndex(of: setting) ?? 0))
        }

        mutating func append(code: Int64) {
            value |= code << shift
            shift += 4
        }
    }

    private struct Unpacker {
        var value: Int64

        mutating func next<Setting: OpenSetting>() -> Setting where Setting.AllCases == [Setting] {
            let code = nextCode()
            return code < Setting.allCases.count ? Setting.allCases[code] : .unknown
        }

        mutating func nextCode() -> Int {
            defer { value >>= 4 }
            return Int(value & 15)
        }
    }
}

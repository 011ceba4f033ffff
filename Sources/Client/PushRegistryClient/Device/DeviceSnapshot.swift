import Foundation

extension PushRegistryClient {
    /// The device and its notification settings at one moment.
    public struct DeviceSnapshot: Sendable, Hashable {
        public var device: Device
        public var settings: NotificationSettings
        /// A value that differs between two devices, so that a copied installation gets a new id: on Apple platforms
        /// the id in the keychain, which no backup takes to another device. Nil while it is unknown.
        public var fingerprint: String?

        public init(device: Device, settings: NotificationSettings, fingerprint: String? = nil) {
            self.device = device
            self.settings = settings
            self.fingerprint = fingerprint
        }
    }

    /// The members of `device` in a registration, without `installId`.
    public struct Device: Sendable, Hashable, Codable {
        /// Survives a reinstall, so that the registry finds the installation that was replaced.
        public var keychainId: String?
        public var vendorId: String?
        public var appVersion: String?
        public var deviceModel: String
        public var systemName: String
        public var systemVersion: String
        public var locale: String
        public var language: String?
        /// The preferred languages, at most 32.
        public var languages: [String]
        public var region: String?
        public var timeZoneId: String
        /// Seconds east of UTC.
        public var timeZoneOffset: Int

        public init(
            deviceModel: String, systemName: String, systemVersion: String, appVersion: String? = nil,
            locale: Locale = .current, languages: [String] = Locale.preferredLanguages, timeZone: TimeZone = .current
        ) {
            self.deviceModel = deviceModel
            self.systemName = systemName
            self.systemVersion = systemVersion
            self.appVersion = appVersion
            self.locale = locale.identifier
            language = locale.language.languageCode?.identifier
            region = locale.region?.identifier
            self.languages = Array(languages.prefix(32))
            timeZoneId = timeZone.identifier
            timeZoneOffset = timeZone.secondsFromGMT()
        }
    }

    /// The notification settings, with the names of `UNNotificationSettings`. The registry stores nil as `unknown`.
    public struct NotificationSettings: Sendable, Hashable, Codable {
        public enum Authorization: String, Sendable, Hashable, Codable {
            case notDetermined, denied, authorized, provisional, ephemeral, unknown
        }

        public enum Setting: String, Sendable, Hashable, Codable {
            case notSupported, disabled, enabled, unknown
        }

        public enum AlertStyle: String, Sendable, Hashable, Codable {
            case none, banner, alert, unknown
        }

        public enum Previews: String, Sendable, Hashable, Codable {
            case always, whenAuthenticated, never, unknown
        }

        public var authorizationStatus: Authorization
        public var soundSetting: Setting?
        public var badgeSetting: Setting?
        public var alertSetting: Setting?
        public var notificationCenterSetting: Setting?
        public var lockScreenSetting: Setting?
        public var carPlaySetting: Setting?
        public var criticalAlertSetting: Setting?
        public var announcementSetting: Setting?
        public var alertStyle: AlertStyle?
        public var showPreviewsSetting: Previews?
        public var providesAppNotificationSettings: Bool?

        public init(authorizationStatus: Authorization) {
            self.authorizationStatus = authorizationStatus
        }
    }
}

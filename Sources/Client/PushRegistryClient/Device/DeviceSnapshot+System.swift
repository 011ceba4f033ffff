import Foundation

#if canImport(UIKit) && !os(watchOS)
import UIKit
#endif
#if canImport(UserNotifications)
import UserNotifications
#endif

extension PushRegistryClient.DeviceSnapshot {
    /// The device and its settings, as the system reports them now.
    ///
    /// On Linux the settings are unknown, and a push reaches nobody whose authorization is unknown: set
    /// `authorizationStatus`.
    ///
    /// - Throws: if the keychain cannot be read yet. The client tries again later. If it fails for good, the snapshot
    ///   has no `keychainId` and no fingerprint.
    public static func current() async throws -> Self {
        #if canImport(Security)
        let keychainID = try SystemKeychain().item("keychainId") { Data(UUID().uuidString.utf8) }
        #else
        let keychainID: Data? = nil
        #endif
        var device = await PushRegistryClient.Device.current()
        device.keychainId = keychainID.map { String(decoding: $0, as: UTF8.self) }
        #if canImport(UserNotifications)
        // Only the value crosses to this actor: `UNNotificationSettings` is not Sendable.
        let settings = PushRegistryClient.NotificationSettings(
            await UNUserNotificationCenter.current().notificationSettings())
        #else
        let settings = PushRegistryClient.NotificationSettings(authorizationStatus: .unknown)
        #endif
        return Self(device: device, settings: settings, fingerprint: device.keychainId)
    }
}

extension PushRegistryClient.Device {
    fileprivate static var appVersion: String? {
        Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String
    }

    #if canImport(UIKit) && !os(watchOS)
    @MainActor
    fileprivate static func current() -> Self {
        let system = UIDevice.current
        var device = Self(
            deviceModel: machine, systemName: system.systemName, systemVersion: system.systemVersion,
            appVersion: appVersion)
        device.vendorId = system.identifierForVendor?.uuidString
        return device
    }
    #else
    fileprivate static func current() async -> Self {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        #if os(macOS)
        let systemName = "macOS"
        #elseif os(watchOS)
        let systemName = "watchOS"
        #elseif os(Linux)
        let systemName = "Linux"
        #else
        let systemName = "unknown"
        #endif
        return Self(
            deviceModel: machine, systemName: systemName,
            systemVersion: "\(version.majorVersion).\(version.minorVersion)", appVersion: appVersion)
    }
    #endif

    /// The model as uname(3) reports it: `iPhone17,3` on iOS, the architecture elsewhere.
    private static var machine: String {
        var system = utsname()
        guard uname(&system) == 0 else { return "unknown" }
        return withUnsafeBytes(of: system.machine) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

#if canImport(UserNotifications)
extension PushRegistryClient.NotificationSettings {
    init(_ settings: UNNotificationSettings) {
        self.init(authorizationStatus: .init(settings.authorizationStatus))
        #if !os(watchOS)
        badgeSetting = .init(settings.badgeSetting)
        #endif
        #if !os(tvOS)
        soundSetting = .init(settings.soundSetting)
        alertSetting = .init(settings.alertSetting)
        notificationCenterSetting = .init(settings.notificationCenterSetting)
        criticalAlertSetting = .init(settings.criticalAlertSetting)
        #endif
        #if os(iOS) || os(macOS) || os(visionOS)
        lockScreenSetting = .init(settings.lockScreenSetting)
        alertStyle = .init(settings.alertStyle)
        showPreviewsSetting = .init(settings.showPreviewsSetting)
        providesAppNotificationSettings = settings.providesAppNotificationSettings
        #endif
        #if os(iOS)
        carPlaySetting = .init(settings.carPlaySetting)
        announcementSetting = .init(settings.announcementSetting)
        #endif
    }
}

extension PushRegistryClient.NotificationSettings.Authorization {
    init(_ status: UNAuthorizationStatus) {
        switch status {
        case .notDetermined: self = .notDetermined
        case .denied: self = .denied
        case .authorized: self = .authorized
        case .provisional: self = .provisional
        #if os(iOS)
        case .ephemeral: self = .ephemeral
        #endif
        // Not `@unknown`: other platforms have the case of App Clips, too, without App Clips.
        default: self = .unknown
        }
    }
}

extension PushRegistryClient.NotificationSettings.Setting {
    init(_ setting: UNNotificationSetting) {
        switch setting {
        case .notSupported: self = .notSupported
        case .disabled: self = .disabled
        case .enabled: self = .enabled
        @unknown default: self = .unknown
        }
    }
}

#if os(iOS) || os(macOS) || os(visionOS)
extension PushRegistryClient.NotificationSettings.AlertStyle {
    init(_ style: UNAlertStyle) {
        switch style {
        case .none: self = .none
        case .banner: self = .banner
        case .alert: self = .alert
        @unknown default: self = .unknown
        }
    }
}

extension PushRegistryClient.NotificationSettings.Previews {
    init(_ setting: UNShowPreviewsSetting) {
        switch setting {
        case .always: self = .always
        case .whenAuthenticated: self = .whenAuthenticated
        case .never: self = .never
        @unknown default: self = .unknown
        }
    }
}
#endif
#endif

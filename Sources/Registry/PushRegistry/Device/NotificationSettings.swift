/// A setting with a closed list of names. A name that is not on the list reads as `unknown`: systems add names every
/// year, and a registration must not fail because of one.
public protocol OpenSetting: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == String {
    static var unknown: Self { get }
}

extension OpenSetting {
    /// The case of this name, or `unknown`.
    @inlinable
    public init(sent name: String) {
        self = Self(rawValue: name) ?? .unknown
    }
}

/// Whether the user allows notifications.
public enum AuthorizationStatus: String, OpenSetting {
    case notDetermined, denied, authorized, provisional, ephemeral, unknown
}

/// Whether the device supports one way of notifying, and whether the user enabled it.
public enum NotificationSetting: String, OpenSetting {
    case notSupported, disabled, enabled, unknown
}

/// How alerts are shown.
public enum AlertStyle: String, OpenSetting {
    case none, banner, alert, unknown
}

/// When a notification's content is shown.
public enum ShowPreviewsSetting: String, OpenSetting {
    case always, whenAuthenticated, never, unknown
}

/// The notification settings that the client last sent; a setting that it did not send is `unknown`.
public struct NotificationSettings: Hashable, Sendable {
    public var authorizationStatus = AuthorizationStatus.unknown
    public var soundSetting = NotificationSetting.unknown
    public var badgeSetting = NotificationSetting.unknown
    public var alertSetting = NotificationSetting.unknown
    public var notificationCenterSetting = NotificationSetting.unknown
    public var lockScreenSetting = NotificationSetting.unknown
    public var carPlaySetting = NotificationSetting.unknown
    public var criticalAlertSetting = NotificationSetting.unknown
    public var announcementSetting = NotificationSetting.unknown
    public var alertStyle = AlertStyle.unknown
    public var showPreviewsSetting = ShowPreviewsSetting.unknown
    public var providesAppNotificationSettings: Bool?
    /// Whether an import assumed that the user allows notifications, because the other system did not say. The status
    /// is `unknown` then. The first registration ends it, since no client sends it.
    public var authorizationAssumed = false

    /// All settings are unknown.
    public init() {}
}

/// Reads or writes each setting by its API name.
public protocol NotificationSettingsVisitor {
    mutating func visit<Setting: OpenSetting>(_ name: StaticString, _ setting: inout Setting)
    mutating func visit(_ name: StaticString, _ flag: inout Bool?)
}

extension NotificationSettings {
    /// Passes the settings to a visitor. This is the only list of their API names; its order is part of the digest of a
    /// snapshot and must not change.
    @inlinable
    public mutating func visitAll(_ visitor: inout some NotificationSettingsVisitor) {
        visitor.visit("authorizationStatus", &authorizationStatus)
        visitor.visit("soundSetting", &soundSetting)
        visitor.visit("badgeSetting", &badgeSetting)
        visitor.visit("alertSetting", &alertSetting)
        visitor.visit("notificationCenterSetting", &notificationCenterSetting)
        visitor.visit("lockScreenSetting", &lockScreenSetting)
        visitor.visit("carPlaySetting", &carPlaySetting)
        visitor.visit("criticalAlertSetting", &criticalAlertSetting)
        visitor.visit("announcementSetting", &announcementSetting)
        visitor.visit("alertStyle", &alertStyle)
        visitor.visit("showPreviewsSetting", &showPreviewsSetting)
        visitor.visit("providesAppNotificationSettings", &providesAppNotificationSettings)
    }

    /// The API names of the settings, in the order of `visitAll`.
    public static let names: [String] = {
        struct NameCollector: NotificationSettingsVisitor {
            var names: [String] = []

            mutating func visit<Setting: OpenSetting>(_ name: StaticString, _ setting: inout Setting) {
                names.append(name.description)
            }

            mutating func visit(_ name: StaticString, _ flag: inout Bool?) { names.append(name.description) }
        }
        var collector = NameCollector()
        var settings = NotificationSettings()
        settings.visitAll(&collector)
        return collector.names
    }()
}

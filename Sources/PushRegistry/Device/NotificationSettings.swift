/// A setting with a closed list of names, in which a name that is not known yet is `unknown`: systems add some every
/// year, and a registration must not fail for it.
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

/// One way of notifying: does the device have it, does the user want it.
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

/// What the user allows, as the client last sent it; what it did not send is `unknown`.
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

    /// All unknown.
    public init() {}
}

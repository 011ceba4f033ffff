import Basics

/// Bodies of registrations.
public enum SampleRegistration {
    /// A token for each name: its bytes in hexadecimal digits, padded to 64.
    public static func token(_ name: String) -> String {
        let digits = String(hex: name.utf8)
        return String((digits + String(repeating: "0", count: 64)).prefix(max(64, digits.count)))
    }

    /// A body with every member, all values canonical.
    ///
    /// - Parameter token: the installation's own by default.
    public static func make(
        _ installID: String = "phone", token: String? = nil, provider: String = "apns", settings: JSON? = nil,
        device: JSON? = nil
    ) -> JSON {
        [
            "token": .string(token ?? Self.token(installID)), "provider": .string(provider),
            "settings": settings ?? Self.settings(), "device": device ?? Self.device(installID),
        ]
    }

    public static func settings(authorizationStatus: String = "authorized") -> JSON {
        [
            "authorizationStatus": .string(authorizationStatus), "soundSetting": "enabled", "badgeSetting": "disabled",
            "alertSetting": "enabled", "notificationCenterSetting": "enabled", "lockScreenSetting": "notSupported",
            "carPlaySetting": "notSupported", "criticalAlertSetting": "disabled", "announcementSetting": "unknown",
            "alertStyle": "banner", "showPreviewsSetting": "whenAuthenticated",
            "providesAppNotificationSettings": true,
        ]
    }

    public static func device(_ installID: String = "phone") -> JSON {
        [
            "installId": .string(installID), "keychainId": .string("keychain of \(installID)"),
            "vendorId": .string("vendor of \(installID)"), "appVersion": "1.4.0", "deviceModel": "iPhone17,3",
            "systemName": "iOS", "systemVersion": "26.5", "locale": "de_DE", "language": "de",
            "languages": ["de-DE", "en-US"], "region": "DE", "timeZoneId": "Europe/Berlin", "timeZoneOffset": 3600,
            "carrier": "Example", "appStore": "AppStore", "location": ["latitude": 52.52, "longitude": 13.4],
        ]
    }
}

import PushRegistry
import StrictJSON

extension FleetInstallation {
    /// The JSON body of this installation's registration, as its client writes it.
    ///
    /// - Parameters:
    ///   - settings: replaces the installation's own settings.
    ///   - kinds: of the typed tokens, whose texts are that of the token itself. Without one, the body names none.
    public func body(settings: NotificationSettings? = nil, tokens kinds: [String] = []) -> [UInt8] {
        body(of: sent, settings ?? self.settings, kinds)
    }

    /// The body after a phone has changed hands: the phone keeps its properties and its token, and `newcomer` has
    /// reinstalled the app.
    public func body(handedTo newcomer: FleetInstallation) -> [UInt8] {
        var device = sent
        (device.installID, device.keychainID, device.vendorID, device.advertisingID) = (
            newcomer.sent.installID, newcomer.sent.keychainID, newcomer.sent.vendorID, newcomer.sent.advertisingID
        )
        return body(of: device, settings)
    }

    private func body(
        of device: SentDevice, _ settings: NotificationSettings, _ kinds: [String] = []
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: 1_536)
        writer.object { writer in
            writer.member("token", token.text)
            writer.member("provider", token.provider.rawValue)
            if let keys { writer.member("keys", keys) }
            writer.member("settings", settings)
            writer.member("device", device)
            if !kinds.isEmpty { writer.member("tokens", kinds, token.text) }
        }
        return writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: StaticString, _ keys: WebPushKeys) {
        self.name(name)
        object { writer in
            writer.member("p256dh", keys.p256dh)
            writer.member("auth", keys.auth)
        }
    }

    fileprivate mutating func member(_ name: StaticString, _ kinds: [String], _ token: String) {
        self.name(name)
        array { writer in
            for kind in kinds {
                writer.object { writer in
                    writer.member("kind", kind)
                    writer.member("token", token)
                }
            }
        }
    }

    /// Omits unknown settings.
    fileprivate mutating func member(_ name: StaticString, _ settings: NotificationSettings) {
        self.name(name)
        object { writer in
            writer.setting("authorizationStatus", settings.authorizationStatus)
            writer.setting("soundSetting", settings.soundSetting)
            writer.setting("badgeSetting", settings.badgeSetting)
            writer.setting("alertSetting", settings.alertSetting)
            writer.setting("notificationCenterSetting", settings.notificationCenterSetting)
            writer.setting("lockScreenSetting", settings.lockScreenSetting)
            writer.setting("carPlaySetting", settings.carPlaySetting)
            writer.setting("criticalAlertSetting", settings.criticalAlertSetting)
            writer.setting("announcementSetting", settings.announcementSetting)
            writer.setting("alertStyle", settings.alertStyle)
            writer.setting("showPreviewsSetting", settings.showPreviewsSetting)
            if let provides = settings.providesAppNotificationSettings {
                writer.member("providesAppNotificationSettings", provides)
            }
        }
    }

    private mutating func setting(_ name: StaticString, _ setting: some OpenSetting) {
        if setting != .unknown { member(name, setting.rawValue) }
    }

    fileprivate mutating func member(_ name: StaticString, _ device: SentDevice) {
        self.name(name)
        object { writer in
            writer.member("installId", device.installID.rawValue)
            writer.present("keychainId", device.keychainID)
            writer.present("vendorId", device.vendorID)
            writer.present("advertisingId", device.advertisingID)
            writer.present("appVersion", device.appVersion)
            writer.member("deviceModel", device.deviceModel)
            writer.member("systemName", device.systemName)
            writer.member("systemVersion", device.systemVersion)
            writer.member("locale", device.locale)
            writer.present("language", device.language)
            writer.member("languages", device.languages)
            writer.present("region", device.region)
            writer.member("timeZoneId", device.timeZoneID)
            writer.member("timeZoneOffset", device.timeZoneOffset)
            writer.present("carrier", device.carrier)
            writer.present("appStore", device.appStore)
            if let location = device.location { writer.member("location", location) }
        }
    }

    private mutating func present(_ name: StaticString, _ value: String?) {
        if let value { member(name, value) }
    }

    private mutating func member(_ name: StaticString, _ location: Location) {
        self.name(name)
        object { writer in
            writer.member("latitude", location.latitude)
            writer.member("longitude", location.longitude)
        }
    }
}

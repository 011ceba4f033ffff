extension Snapshot {
    /// A form in bytes that two snapshots share exactly when they are equal: every field with its length before it, in
    /// a fixed order. Its first byte is its version. For digests; nothing reads it back.
    public var canonicalBytes: [UInt8] {
        var bytes = CanonicalBytes(version: 1)
        settings.append(to: &bytes)
        device.append(to: &bytes)
        return bytes.bytes
    }
}

/// Fields in a form that no two different lists of fields share.
public struct CanonicalBytes: Sendable {
    public private(set) var bytes: [UInt8] = []

    public init(version: UInt8) {
        bytes.reserveCapacity(1_024)
        bytes.append(version)
    }

    public mutating func append(_ field: some Collection<UInt8>) {
        append(length: field.count)
        bytes.append(contentsOf: field)
    }

    public mutating func append(_ text: String) {
        append(text.utf8)
    }

    /// An absent field differs from an empty one.
    public mutating func append(_ text: String?) {
        if let text { append(text) } else { append(length: 0xFFFF_FFFF) }
    }

    public mutating func append(_ number: Int64) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    public mutating func append(length: Int) {
        withUnsafeBytes(of: UInt32(length).littleEndian) { bytes.append(contentsOf: $0) }
    }
}

extension NotificationSettings {
    fileprivate func append(to bytes: inout CanonicalBytes) {
        bytes.append(authorizationStatus.rawValue)
        for setting in [
            soundSetting, badgeSetting, alertSetting, notificationCenterSetting, lockScreenSetting, carPlaySetting,
            criticalAlertSetting, announcementSetting,
        ] {
            bytes.append(setting.rawValue)
        }
        bytes.append(alertStyle.rawValue)
        bytes.append(showPreviewsSetting.rawValue)
        bytes.append(providesAppNotificationSettings.map { $0 ? "true" : "false" })
    }
}

extension Device {
    fileprivate func append(to bytes: inout CanonicalBytes) {
        for text in [keychainID, vendorID, advertisingID, appVersion, language, region, carrier, appStore] {
            bytes.append(text)
        }
        for text in [deviceModel, systemName, systemVersion, locale.text, timeZoneID] { bytes.append(text) }
        bytes.append(Int64(timeZoneOffset))
        bytes.append(length: languages.count)
        for language in languages { bytes.append(language) }
        bytes.append(length: location == nil ? 0 : 1)
        guard let location else { return }
        bytes.append(Int64(bitPattern: location.latitude.bitPattern))
        bytes.append(Int64(bitPattern: location.longitude.bitPattern))
    }
}

import Basics

extension Snapshot {
    /// The input of the snapshot's digest. Two snapshots have the same bytes exactly if they are equal: the first byte
    /// is the version of the format, then every field follows with its length before it, in a fixed order.
    public var canonicalBytes: [UInt8] {
        var writer = SettingsWriter(bytes: CanonicalBytes(version: 1))
        var settings = settings
        settings.visitAll(&writer)
        device.append(to: &writer.bytes)
        // No registration says so: the first one differs, and replaces the snapshot.
        if settings.authorizationAssumed { writer.bytes.append("authorizationAssumed") }
        return writer.bytes.bytes
    }
}

/// An unambiguous encoding: two different lists of fields never have the same bytes.
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

    /// A missing field differs from an empty one.
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

private struct SettingsWriter: NotificationSettingsVisitor {
    var bytes: CanonicalBytes

    mutating func visit<Setting: OpenSetting>(_ name: StaticString, _ setting: inout Setting) {
        bytes.append(setting.rawValue)
    }

    mutating func visit(_ name: StaticString, _ flag: inout Bool?) {
        bytes.append(flag.map { $0 ? "true" : "false" })
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

/// The identifiers that survive a reinstall. They distinguish a reinstall or clone from another device (R5).
public struct DeviceFingerprint: Hashable, Sendable {
    public let keychainID: String
    public let vendorID: String?
    public let deviceModel: String

    /// Nil for a device without a keychain id: its reinstalls cannot be recognised.
    public init?(_ device: Device) {
        guard let keychainID = device.keychainID else { return nil }
        self.init(keychainID: keychainID, vendorID: device.vendorID, deviceModel: device.deviceModel)
    }

    public init(keychainID: String, vendorID: String?, deviceModel: String) {
        (self.keychainID, self.vendorID, self.deviceModel) = (keychainID, vendorID, deviceModel)
    }

    /// Whether both have the same keychain id and vendor id. If one lacks the vendor id, the model decides instead.
    func isSameDevice(as older: DeviceFingerprint) -> Bool {
        guard ExactText(keychainID) == ExactText(older.keychainID) else { return false }
        guard let vendorID, let olderVendorID = older.vendorID else {
            return ExactText(deviceModel) == ExactText(older.deviceModel)
        }
        return ExactText(vendorID) == ExactText(olderVendorID)
    }
}

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
        self.keychainID = keychainID
        self.vendorID = vendorID
        self.deviceModel = deviceModel
    }

    /// Whether both have the same keychain id and vendor id. If one lacks the vendor id, the model decides instead.
    func isSameDevice(as older: DeviceFingerprint) -> Bool {
        guard keychainID == older.keychainID else { return false }
        guard let vendorID, let olderVendorID = older.vendorID else { return deviceModel == older.deviceModel }
        return vendorID == olderVendorID
    }
}

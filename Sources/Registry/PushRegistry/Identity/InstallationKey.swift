/// The identity of an installation. Installations are locked in the order of their keys.
public struct InstallationKey: Hashable, Comparable, Sendable {
    public let app: AppNumber
    public let installID: InstallID

    public init(app: AppNumber, installID: InstallID) {
        self.app = app
        self.installID = installID
    }

    public static func < (left: InstallationKey, right: InstallationKey) -> Bool {
        left.app == right.app ? left.installID.rawValue < right.installID.rawValue : left.app < right.app
    }
}

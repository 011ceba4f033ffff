/// What the roll-up tells installations apart by.
public struct RollUpDimensions: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let provider = RollUpDimensions(rawValue: 1)
    public static let locale = RollUpDimensions(rawValue: 2)
    /// The zone, with the offset that was sent where the zone is not known; and whatever follows from it.
    public static let timeZone = RollUpDimensions(rawValue: 4)
    /// The system's name and its version: Android 14 is not iOS 14.
    public static let osVersion = RollUpDimensions(rawValue: 8)
    public static let authorization = RollUpDimensions(rawValue: 16)

    public static let all: RollUpDimensions = [.provider, .locale, .timeZone, .osVersion, .authorization]

    /// The smallest set of dimensions for which counts are kept that tells these apart: none, one or two of them are kept
    /// by themselves.
    var level: RollUpDimensions {
        rawValue.nonzeroBitCount <= 2 ? self : .all
    }

    /// The columns of the roll-up, by name: those of `installation`, and what is kept of them.
    var columns: [String] {
        var columns: [String] = []
        if contains(.provider) { columns.append("provider") }
        if contains(.locale) { columns.append("locale") }
        if contains(.timeZone) { columns += ["time_zone_id", "time_zone_offset"] }
        if contains(.osVersion) { columns += ["system_name", "system_version", "system_version_key"] }
        if contains(.authorization) { columns.append("authorization_status") }
        return columns
    }
}

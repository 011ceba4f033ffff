import PostgresClient

/// What the roll-up tells installations apart by.
public struct RollUpDimensions: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let provider = RollUpDimensions(rawValue: 1)
    public static let locale = RollUpDimensions(rawValue: 2)
    /// The zone by its name.
    public static let timeZone = RollUpDimensions(rawValue: 4)
    /// The version by its number: 17 and 17.0 are one, on whatever system.
    public static let osVersion = RollUpDimensions(rawValue: 8)
    public static let authorization = RollUpDimensions(rawValue: 16)
    public static let systemName = RollUpDimensions(rawValue: 32)
    /// The offset that was sent, where the zone is not known.
    public static let sentOffset = RollUpDimensions(rawValue: 64)

    public static let all = RollUpDimensions(rawValue: 127)

    private static let byColumn: [(column: PostgresSQL, dimension: RollUpDimensions)] = [
        ("provider", .provider), ("authorization_status", .authorization), ("locale_number", .locale),
        ("zone_number", .timeZone), ("time_zone_offset", .sentOffset), ("system_number", .systemName),
        ("version_number", .osVersion),
    ]

    /// The columns of a cell and of a level.
    var columns: [PostgresSQL] {
        Self.byColumn.filter { contains($0.dimension) }.map(\.column)
    }
}

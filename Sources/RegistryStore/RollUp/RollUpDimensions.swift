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
    public static let state = RollUpDimensions(rawValue: 128)

    public static let all = RollUpDimensions(rawValue: 255)

    /// For which counts are kept, as the migration makes them; the fewer cells, the earlier.
    private static let kept: [RollUpDimensions] = [
        [], .provider, .authorization, [.provider, .authorization], system, zone, .locale, [.provider, system],
        [.authorization, system], [.provider, zone], [.provider, .locale], [.authorization, zone],
        [.provider, .authorization, system], [.locale, .authorization], [.locale, zone],
        [.provider, .authorization, zone], [.provider, .locale, .authorization], [.provider, .locale, zone],
        [.locale, .authorization, zone], [.timeZone, .osVersion], [.locale, .osVersion],
        [.provider, .timeZone, .osVersion], [.provider, .locale, .osVersion], [zone, system], [.locale, system],
        [.locale, .timeZone, .osVersion], [.timeZone, .osVersion, .authorization],
        [.locale, .osVersion, .authorization], .all,
    ]
    private static let system: RollUpDimensions = [.systemName, .osVersion]
    private static let zone: RollUpDimensions = [.timeZone, .sentOffset]

    /// Those for which counts are kept that tell at least these apart, with the fewest cells.
    var level: RollUpDimensions {
        Self.kept.first { $0.isSuperset(of: self) } ?? .all
    }

    /// Whether these are a level with thousands of cells, for which its size is kept and its largest cells are found by an index.
    var isRanked: Bool {
        contains(.osVersion) && !contains(.systemName) && level == self
    }
}

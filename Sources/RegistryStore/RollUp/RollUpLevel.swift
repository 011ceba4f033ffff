import PostgresClient

/// A table of folded counts. All but the cube and the topics are sums of the cube's. The migration creates the tables;
/// this is the only list.
struct RollUpLevel: Sendable {
    let name: String
    let dimensions: RollUpDimensions
    /// The key columns besides the dimensions.
    private let more: [PostgresSQL]
    /// Whether an index by count finds the largest rows, and `rollup_size` knows how many there are.
    let isRanked: Bool

    private init(
        _ name: String, _ dimensions: RollUpDimensions, more: [PostgresSQL] = [], isRanked: Bool = false
    ) {
        self.name = name
        self.dimensions = dimensions
        self.more = more
        self.isRanked = isRanked
    }

    /// The smallest first, in a usual fleet. A query about one or two fields reads a table of some thousand rows, or a
    /// ranked one; a query about three fields reads one that is summed within 20 ms at ten million installations.
    /// Provider, authorization and system together have few values, so one table serves all of their combinations.
    /// Other queries sum the cube.
    static let all = [
        RollUpLevel("version", small.union(.osVersion), more: ["spelling_number"]),
        RollUpLevel("locale_zone", zone.union(.locale), isRanked: true),
        RollUpLevel("zone", small.union(zone)),
        RollUpLevel("locale", small.union(.locale)),
        RollUpLevel("zone_version", zone.union(.osVersion), isRanked: true),
        RollUpLevel("locale_version", [.locale, .osVersion], isRanked: true),
        RollUpLevel("locale_zone_provider", small.union(zone).union(.locale)),
        RollUpLevel("zone_version_provider", zone.union([.osVersion, .provider, .systemName])),
        RollUpLevel("locale_version_provider", [.locale, .osVersion, .provider, .systemName]),
        RollUpLevel("locale_zone_version", zone.union([.locale, .osVersion])),
        RollUpLevel("zone_version_authorization", zone.union([.osVersion, .authorization])),
        RollUpLevel("locale_version_authorization", [.locale, .osVersion, .authorization]),
        cube, topics,
    ]
    /// The installations with a choice about a topic.
    static let topics = RollUpLevel("topic", .all, more: ["topic", "cell"])
    static let cube = RollUpLevel("cube", .all, more: ["cell"])
    /// The one with the spellings of versions.
    static let version = all[0]

    private static let small: RollUpDimensions = [.provider, .authorization, .systemName]
    private static let zone: RollUpDimensions = [.timeZone, .sentOffset]

    /// The smallest level that has these dimensions.
    init(for dimensions: RollUpDimensions) {
        self = Self.all.first { $0.dimensions.isSuperset(of: dimensions) } ?? Self.cube
    }

    /// Whether its rows are by cell; those of the other levels are sums of the cube's.
    var isByCell: Bool { dimensions == .all }
    /// The deltas that it counts.
    var changes: PostgresSQL { name == Self.topics.name ? "topic <> 0" : "topic = 0" }
    var tableName: String { "rollup_\(name)" }
    var table: PostgresSQL { PostgresSQL(identifier: tableName) }
    /// All but the app and the counts.
    var columns: [PostgresSQL] { dimensions.columns + more }
    /// With the app, the primary key.
    var key: [PostgresSQL] { isByCell ? more : columns }
}

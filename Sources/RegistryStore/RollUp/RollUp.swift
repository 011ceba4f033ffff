import PostgresClient
import PushRegistry

/// Counts of installations by the dimensions of cells, exact in the snapshot of the statement that reads them: the
/// folded counts, the deltas that are not folded yet, and the sessions that have expired and are not swept yet.
public struct RollUp: Sendable {
    /// Which installations count.
    public enum Scope: Sendable {
        /// A push would be let through: as `InstallationRecord.isReachable` has it.
        case reachable
        /// The state is `active`.
        case active
        case all
    }

    let app: AppNumber
    let scope: Scope
    let asOf: PostgresTimestamp
    /// Only installations with this choice, as `TopicChoices` codes it; 0 for all.
    let choice: Int32

    /// - Parameter asOf: sessions that expired until then are not reachable. No time before `registry_clock.latest`:
    ///   sweeping follows that clock.
    public init(of app: AppNumber, scope: Scope, asOf: PostgresTimestamp) {
        self.init(of: app, scope: scope, asOf: asOf, choice: 0)
    }

    private init(of app: AppNumber, scope: Scope, asOf: PostgresTimestamp, choice: Int32) {
        self.app = app
        self.scope = scope
        self.asOf = asOf
        self.choice = choice
    }

    /// The counts of the installations that have this choice about a topic.
    func choosing(_ choice: Int32) -> RollUp {
        RollUp(of: app, scope: scope, asOf: asOf, choice: choice)
    }

    /// A FROM item, without a name: the columns of these dimensions, named and typed as those of `installation`, and
    /// `count`, to be summed; it may be negative, and zero in sum.
    ///
    /// The version is `system_version_key`, which `version_key` makes of it. `time_zone_offset` says something only
    /// where `known_time_zone` has no `time_zone_id`: elsewhere it is 0.
    public func relation(by dimensions: RollUpDimensions) -> PostgresSQL {
        let columns = texts(of: dimensions) + ["c.count"]
        let parts = [folded(RollUpLevel(for: dimensions)), changes].map { rows in
            """
            SELECT \(sql: columns.joined(separator: ", ")) FROM (\(sql: rows)) AS c\(sql: joins(for: dimensions))
            """ as PostgresSQL
        }
        return "(\(sql: parts.joined(separator: " UNION ALL ")))"
    }
}

// MARK: - Subscribers of a topic

extension RollUp {
    /// Like `relation(by:)`, with a column `subscribed`: whether a row counts subscribers of the topic, or others.
    /// Installations without a choice count by the topic's default; those with the opposite choice move to the other
    /// side.
    func relation(by dimensions: RollUpDimensions, splitBy topic: Topic) -> PostgresSQL {
        let columns = names(of: dimensions) + ["count"]
        let moved = names(of: dimensions) + ["count * step"]
        return """
            (SELECT \(sql: columns.joined(separator: ", ")), \(topic.content.isInByDefault) AS subscribed \
            FROM \(sql: relation(by: dimensions)) AS e UNION ALL \
            SELECT \(sql: moved.joined(separator: ", ")), subscribed \
            FROM \(sql: deciding(against: topic).relation(by: dimensions)) AS d \
            CROSS JOIN \(sql: Self.sides(of: topic)))
            """
    }

    /// The counts of the installations whose choice differs from the topic's default.
    func deciding(against topic: Topic) -> RollUp {
        choosing(topic.content.isInByDefault ? -topic.number.rawValue : topic.number.rawValue)
    }

    /// A FROM item with two rows: these installations leave the side of the default, and join the other side.
    static func sides(of topic: Topic) -> PostgresSQL {
        let isIn = topic.content.isInByDefault
        return "(VALUES (-1::bigint, \(isIn)), (1, \(!isIn))) AS side (step, subscribed)"
    }
}

// MARK: - Rows of numbers

extension RollUp {
    /// A SELECT: the rows of a level with their `count`. For a choice there is one level.
    func folded(_ level: RollUpLevel) -> PostgresSQL {
        choice == 0
            ? "SELECT c.*, c.\(sql: count) AS count FROM \(sql: level.table) c WHERE c.app_id = \(app.rawValue)"
            : """
            SELECT c.*, c.\(sql: count) AS count FROM \(sql: RollUpLevel.topics.table) c \
            WHERE c.app_id = \(app.rawValue) AND c.topic = \(choice)
            """
    }

    /// The column of levels that counts.
    var count: PostgresSQL {
        switch scope {
        case .reachable: "reachable"
        case .active: "active"
        case .all: "installations"
        }
    }

    /// A SELECT: cells, each with the `count` that the levels do not have yet.
    ///
    /// Deltas are summed by cell first, and each cell is looked up by its key, whatever the planner's statistics are.
    var changes: PostgresSQL {
        let isAdmitted: PostgresSQL = scope == .reachable ? " AND c.is_admitted" : ""
        return """
            SELECT c.*, p.count FROM (\(sql: pending(of: [choice]))) AS p CROSS JOIN LATERAL (\
            SELECT c.* FROM rollup_cell c \
            WHERE c.app_id = \(app.rawValue) AND c.number = p.cell\(sql: isAdmitted) OFFSET 0) AS c
            """
    }

    /// A SELECT: the counts of these choices, by cell and `topic`, that the levels do not have yet.
    func pending(of choices: [Int32]) -> PostgresSQL {
        let delta: PostgresSQL = scope == .all ? "installations" : "active"
        let deltas: PostgresSQL = """
            SELECT cell, topic, \(sql: delta) AS count FROM rollup_delta \
            WHERE app_id = \(app.rawValue) AND transaction_id >= (\(sql: RollUpStatements.horizon(of: app))) \
            AND topic = ANY (\(choices))
            """
        let all: PostgresSQL =
            scope != .reachable
            ? deltas
            : """
            \(sql: deltas) AND (expires_at IS NULL OR expires_at > \(asOf)) UNION ALL \
            SELECT cell, topic, -active FROM rollup_expiry \
            WHERE app_id = \(app.rawValue) AND expires_at <= \(asOf) AND topic = ANY (\(choices))
            """
        return """
            SELECT cell, topic, sum_counts(count) AS count FROM (\(sql: all)) AS d \
            GROUP BY cell, topic HAVING sum_counts(count) <> 0
            """
    }
}

// MARK: - Texts

extension RollUp {
    private struct Text {
        let dimension: RollUpDimensions
        /// Of `installation`.
        let column: PostgresSQL
        let value: PostgresSQL
        /// The table's name here, and the number that finds its row.
        var lookup: (join: PostgresSQL, name: PostgresSQL, number: PostgresSQL)?
    }

    private static let texts = [
        Text(dimension: .provider, column: "provider", value: "c.provider"),
        Text(dimension: .locale, column: "locale", value: "l.text", lookup: ("JOIN", "l", "locale_number")),
        Text(dimension: .timeZone, column: "time_zone_id", value: "z.text", lookup: ("JOIN", "z", "zone_number")),
        Text(dimension: .sentOffset, column: "time_zone_offset", value: "c.time_zone_offset"),
        Text(dimension: .systemName, column: "system_name", value: "s.text", lookup: ("JOIN", "s", "system_number")),
        // There is no text for 0, which is no version.
        Text(
            dimension: .osVersion, column: "system_version_key", value: "v.version_key",
            lookup: ("LEFT JOIN", "v", "version_number")),
        Text(dimension: .authorization, column: "authorization_status", value: "c.authorization_status"),
    ]

    func names(of dimensions: RollUpDimensions) -> [PostgresSQL] {
        Self.texts.filter { dimensions.contains($0.dimension) }.map(\.column)
    }

    func texts(of dimensions: RollUpDimensions) -> [PostgresSQL] {
        Self.texts.filter { dimensions.contains($0.dimension) }.map { "\(sql: $0.value) AS \(sql: $0.column)" }
    }

    /// Joins of the texts whose numbers rows `c` have.
    func joins(for dimensions: RollUpDimensions) -> PostgresSQL {
        Self.texts.filter { dimensions.contains($0.dimension) }.compactMap(\.lookup).map {
            """
             \(sql: $0.join) rollup_text \(sql: $0.name) \
            ON \(sql: $0.name).app_id = \(app.rawValue) AND \(sql: $0.name).number = c.\(sql: $0.number)
            """
        }.joined(separator: "")
    }

    /// A FROM item: these rows, and the texts of these dimensions beside their numbers.
    func cells(_ rows: PostgresSQL, withTextsOf dimensions: RollUpDimensions) -> PostgresSQL {
        let texts = Self.texts.filter { dimensions.contains($0.dimension) && $0.lookup != nil }
            .map { ", \(sql: $0.value) AS \(sql: $0.column)" as PostgresSQL }.joined(separator: "")
        return "(SELECT c.*\(sql: texts) FROM (\(sql: rows)) AS c\(sql: joins(for: dimensions))) AS cell"
    }
}

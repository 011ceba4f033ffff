import PostgresClient
import PushRegistry

/// The groups of an audience in the roll-up, the largest first. Cells are grouped by numbers; only the groups that are
/// shown get names.
///
/// If all installations are grouped by exactly the dimensions of a level, each of its rows is a group, and only groups
/// that have changed since the last fold are summed. The largest rows of a ranked level are read off an index.
struct RollUpBreakdown {
    private let app: Int32
    private let rollUp: RollUp
    private let fields: [AudienceField]
    private let groups: [RollUpGroup]
    /// The filter over the columns of cells with texts.
    private let predicate: PostgresSQL
    private let limit: Int64
    /// The dimensions that the filter and the zones' offsets look up by text.
    private let looked: RollUpDimensions
    private let level: RollUpLevel
    private let needsZones: Bool
    /// The topic of the filter that somebody may have left.
    private let topic: Topic?
    /// Whether rows of the level are groups.
    private let isWhole: Bool

    init(_ audience: Audience, by fields: [AudienceField], limit: Int, in rollUp: RollUp, where predicate: PostgresSQL)
    {
        app = audience.app.rawValue
        self.rollUp = rollUp
        self.fields = fields
        self.predicate = predicate
        self.limit = Int64(limit)
        groups = fields.compactMap(RollUpGroup.init)
        let grouped = RollUpDimensions(of: Set(fields)) ?? .all
        looked = RollUpDimensions(of: audience.filter.fields.union(fields.filter(\.needsZones))) ?? .all
        level = RollUpLevel(for: looked.union(grouped))
        needsZones = audience.filter.fields.union(fields).contains(where: \.needsZones)
        topic = audience.filter.openTopics.first
        isWhole =
            audience.filter == .everybody && !level.isByCell
            && level.columns.count == level.dimensions.columns.count
            && level.dimensions.subtracting(.sentOffset) == grouped
    }

    /// The definitions after WITH.
    var definitions: [PostgresSQL] { [changes] + (isWhole ? [touched, top, wholeSize] : [counted, top, size]) }

    /// The groups' names, their count, the count of all and the number of groups.
    var sql: PostgresSQL {
        let names = groups.indices.map(shown)
        return """
            SELECT \(sql: names.joined(separator: ", ")), counted, total, groups
            FROM (SELECT \(sql: list(named)), counted FROM top\(sql: lookups)) AS named CROSS JOIN size
            ORDER BY counted DESC, \(sql: list(order)) LIMIT \(limit)
            """
    }
}

// MARK: - Counting

extension RollUpBreakdown {
    private func key(_ index: Int) -> PostgresSQL { PostgresSQL(identifier: "key\(index)") }
    private func found(_ index: Int) -> PostgresSQL { PostgresSQL(identifier: "found\(index)") }
    private func shown(_ index: Int) -> PostgresSQL { PostgresSQL(identifier: "shown\(index)") }

    private func list(_ part: (Int) -> PostgresSQL) -> PostgresSQL {
        groups.indices.map(part).joined(separator: ", ")
    }

    private var keys: PostgresSQL { list { "\(sql: groups[$0].key) AS \(sql: key($0))" } }

    /// Materialized, as more than one part reads them.
    private var changes: PostgresSQL { "changes AS MATERIALIZED (\(sql: rollUp.changes))" }

    private var counted: PostgresSQL {
        let zones: PostgresSQL = needsZones ? " \(sql: ZoneOffsets.join)" : ""
        let parts = rows.map { rows, count in
            """
            SELECT \(sql: keys), \(sql: count) AS count \
            FROM \(sql: rollUp.cells(rows, withTextsOf: looked))\(sql: zones) \
            WHERE \(sql: predicate)
            """ as PostgresSQL
        }
        return """
            counted AS MATERIALIZED (
                SELECT \(sql: list(key)), sum_counts(count) AS counted
                FROM (\(sql: parts.joined(separator: " UNION ALL "))) AS cell
                GROUP BY \(sql: list(key)) HAVING sum_counts(count) > 0)
            """
    }

    /// SELECTs of cells, and how much each of their rows counts. With a topic, each row is on one of its sides, as
    /// `RollUp.relation(by:splitBy:)` has it.
    private var rows: [(rows: PostgresSQL, count: PostgresSQL)] {
        let all: [PostgresSQL] = [rollUp.folded(level), "SELECT * FROM changes"]
        guard let topic else { return all.map { ($0, "count") } }
        let decided = rollUp.deciding(against: topic)
        return all.map { ("SELECT c.*, \(topic.content.isInByDefault) AS subscribed FROM (\(sql: $0)) AS c", "count") }
            + [decided.folded(level), decided.changes].map {
                ("SELECT c.*, side.* FROM (\(sql: $0)) AS c CROSS JOIN \(sql: RollUp.sides(of: topic))", "count * step")
            }
    }

    private var top: PostgresSQL {
        let largest: PostgresSQL = "ORDER BY counted DESC FETCH FIRST \(limit) ROWS WITH TIES"
        guard isWhole else { return "top AS (SELECT * FROM counted \(sql: largest))" }
        return """
            top AS (
                (SELECT \(sql: keys), \(sql: rollUp.count) AS counted FROM \(sql: level.table)
                WHERE app_id = \(app) AND \(sql: rollUp.count) > 0 AND (\(sql: list { groups[$0].key })) NOT IN (
                    SELECT \(sql: list(key)) FROM touched)
                \(sql: largest))
                UNION ALL
                SELECT \(sql: list(key)), counted FROM touched WHERE counted > 0)
            """
    }

    private var size: PostgresSQL {
        "size AS (SELECT coalesce(sum_counts(counted), 0) AS total, count(*) AS groups FROM counted)"
    }

    /// Groups whose count is not in one row of the level: groups that have changed since the last fold, and zones of
    /// several offsets. `rows` is the number of their rows in the level.
    private var touched: PostgresSQL {
        let changed: PostgresSQL = "SELECT \(sql: keys), count FROM changes"
        let several: PostgresSQL = """
            SELECT \(sql: keys), 0 FROM \(sql: level.table) WHERE app_id = \(app) AND time_zone_offset <> 0
            """
        let parts = level.dimensions.contains(.sentOffset) ? [changed, several] : [changed]
        let same = groups.indices.map { "l.\(sql: groups[$0].key) = t.\(sql: key($0))" as PostgresSQL }
        return """
            touched AS MATERIALIZED (
                SELECT \(sql: list { "t.\(sql: key($0))" }), t.step + f.counted AS counted, t.step, f.rows
                FROM (
                    SELECT \(sql: list(key)), sum_counts(count) AS step
                    FROM (\(sql: parts.joined(separator: " UNION ALL "))) AS c GROUP BY \(sql: list(key))) AS t
                CROSS JOIN LATERAL (
                    SELECT coalesce(sum_counts(\(sql: rollUp.count)), 0) AS counted,
                        count(*) FILTER (WHERE \(sql: rollUp.count) > 0) AS rows
                    FROM \(sql: level.table) l
                    WHERE l.app_id = \(app) AND \(sql: same.joined(separator: " AND "))) AS f)
            """
    }

    private var wholeSize: PostgresSQL {
        """
        size AS (
            SELECT coalesce((
                    SELECT sum_counts(\(sql: rollUp.count)) FROM \(sql: RollUpLevel.version.table)
                    WHERE app_id = \(app)), 0)
                    + coalesce(sum_counts(step), 0) AS total,
                coalesce((\(sql: rowsOfLevel)), 0) - coalesce(sum_counts(rows), 0)
                    + count(*) FILTER (WHERE counted > 0) AS groups
            FROM touched)
        """
    }

    /// A SELECT: the number of the level's rows whose count is not zero.
    private var rowsOfLevel: PostgresSQL {
        level.isRanked && rollUp.scope == .reachable
            ? "SELECT reachable FROM rollup_size WHERE app_id = \(app) AND level = \(level.name)"
            : "SELECT count(*) FROM \(sql: level.table) WHERE app_id = \(app) AND \(sql: rollUp.count) > 0"
    }
}

// MARK: - Names

extension RollUpBreakdown {
    private func named(_ index: Int) -> PostgresSQL {
        let name: PostgresSQL =
            switch groups[index].name {
            case .key: "\(sql: key(index))::text"
            case .text, .spelling: "\(sql: found(index)).text"
            case .zone: ZoneOffsets.zone(of: "\(sql: found(index)).text")
            }
        return "\(sql: key(index)), \(sql: name) AS \(sql: shown(index))"
    }

    private var lookups: PostgresSQL {
        groups.indices.compactMap { index -> PostgresSQL? in
            let texts: PostgresSQL
            switch groups[index].name {
            case .key: return nil
            case .text, .zone: texts = "(SELECT number, text FROM rollup_text WHERE app_id = \(app))"
            case .spelling: texts = "(\(sql: spellings))"
            }
            return
                " LEFT JOIN \(sql: texts) AS \(sql: found(index)) ON \(sql: found(index)).number = \(sql: key(index))"
        }.joined(separator: "")
    }

    /// Of several spellings of a version the first, which is the shortest one with nothing behind the number.
    private var spellings: PostgresSQL {
        """
        SELECT s.version_number AS number, min(t.text) AS text
        FROM (
            SELECT version_number, spelling_number FROM \(sql: RollUpLevel.version.table)
            WHERE app_id = \(app) AND version_number <> 0
            UNION
            SELECT version_number, spelling_number FROM changes WHERE version_number <> 0) AS s
        JOIN rollup_text t ON t.app_id = \(app) AND t.number = s.spelling_number GROUP BY 1
        """
    }

    /// Versions and numbers in their own order, the rest as texts.
    private func order(_ index: Int) -> PostgresSQL {
        switch fields[index].kind {
        case .version: "version_key(\(sql: shown(index))) NULLS LAST"
        case .offset: key(index)
        default: "\(sql: shown(index)) COLLATE \"C\" NULLS LAST"
        }
    }
}

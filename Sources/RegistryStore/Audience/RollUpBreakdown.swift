import PostgresClient
import PushRegistry

/// The groups of an audience in the roll-up, the largest first.
///
/// What is folded is grouped by numbers, or is one cell for each group already. What has changed since is little, and is grouped by
/// texts, which may not have numbers yet. Groups that have changed are put right; of all others the largest are taken as
/// they are, and only those get names.
struct RollUpBreakdown {
    private let audience: Audience
    private let rollUp: RollUp
    private let fields: [AudienceField]
    private let groups: [RollUpGroup]
    /// The filter over the columns of either side.
    private let predicate: PostgresSQL
    private let limit: Int64
    private let filtered: RollUpDimensions
    private let level: RollUpDimensions

    init(_ audience: Audience, by fields: [AudienceField], limit: Int, in rollUp: RollUp, where predicate: PostgresSQL)
    {
        self.audience = audience
        self.rollUp = rollUp
        self.fields = fields
        self.predicate = predicate
        self.limit = Int64(limit)
        groups = fields.compactMap(RollUpGroup.init)
        // A group by offset looks its zone up by name.
        let looked = audience.filter.fields.union(fields.filter(\.needsZones))
        filtered = RollUpDimensions(of: looked) ?? .all
        level = filtered.union(RollUpDimensions(of: Set(fields)) ?? .all).level
    }

    private var needsZones: Bool { audience.filter.fields.union(fields).contains(where: \.needsZones) }
    /// Whether each group is a cell, and all of them count.
    private var isWhole: Bool {
        audience.filter == .everybody && level.isRanked && level == RollUpDimensions(of: Set(fields))
    }

    /// What follows WITH.
    var definitions: [PostgresSQL] { [folded, change, touched, top, size] }

    /// The groups' names, their count, the count of all and the number of groups.
    var sql: PostgresSQL {
        let names = groups.indices.map(shown)
        let order = groups.indices.map(order)
        return """
            SELECT \(sql: names.joined(separator: ", ")), counted, total, groups
            FROM (SELECT \(sql: list(named)), counted FROM top\(sql: lookups)) AS named CROSS JOIN size
            ORDER BY counted DESC, \(sql: order.joined(separator: ", ")) LIMIT \(limit)
            """
    }
}

// MARK: - Parts

extension RollUpBreakdown {
    private func key(_ index: Int) -> PostgresSQL { PostgresSQL(identifier: "key\(index)") }
    private func value(_ index: Int) -> PostgresSQL { PostgresSQL(identifier: "value\(index)") }
    private func name(_ index: Int) -> PostgresSQL { PostgresSQL(identifier: "name\(index)") }
    private func shown(_ index: Int) -> PostgresSQL { PostgresSQL(identifier: "shown\(index)") }

    private func list(_ part: (Int) -> PostgresSQL) -> PostgresSQL {
        groups.indices.map(part).joined(separator: ", ")
    }

    private func sameKeys(_ left: PostgresSQL, _ right: PostgresSQL) -> PostgresSQL {
        groups.indices.map { "\(sql: left).\(sql: key($0)) = \(sql: right).\(sql: key($0))" as PostgresSQL }
            .joined(separator: " AND ")
    }

    /// Groups of cells, as keys and number.
    private var folded: PostgresSQL {
        let keys = list { "\(sql: groups[$0].key) AS \(sql: key($0))" }
        let cells = rollUp.cells(at: level, with: filtered)
        guard !isWhole else {
            return
                "folded AS NOT MATERIALIZED (SELECT \(sql: keys), \(sql: rollUp.count) AS counted FROM \(sql: cells))"
        }
        return """
            folded AS MATERIALIZED (
                SELECT \(sql: keys), sum_counts(\(sql: rollUp.count)) AS counted
                FROM \(sql: cells)\(sql: zones) WHERE \(sql: predicate) GROUP BY \(sql: list(key)))
            """
    }

    private var zones: PostgresSQL { needsZones ? " \(sql: ZoneOffsets.join)" : "" }

    /// Groups of changes, as values, names and step.
    private var change: PostgresSQL {
        let dimensions = filtered.union(RollUpDimensions(of: Set(fields)) ?? .all)
        let changes = rollUp.changes(by: dimensions, isSpelled: fields.contains(.osVersion))
        let columns = list {
            "\(sql: groups[$0].value) AS \(sql: value($0)), \(sql: groups[$0].name) AS \(sql: name($0))"
        }
        return """
            change AS MATERIALIZED (
                SELECT \(sql: columns), sum_counts(count) AS step
                FROM (\(sql: changes)) AS cell\(sql: zones) WHERE \(sql: predicate)
                GROUP BY \(sql: list(value)) HAVING sum_counts(count) <> 0)
            """
    }

    private var touched: PostgresSQL {
        let keys = list { "\(sql: groups[$0].number(value($0))) AS \(sql: key($0)), \(sql: name($0))" }
        return """
            touched AS MATERIALIZED (
                SELECT changed.*, coalesce(folded.counted, 0) AS counted
                FROM (SELECT \(sql: keys), step FROM change) AS changed
                LEFT JOIN folded ON \(sql: sameKeys("changed", "folded")))
            """
    }

    private var top: PostgresSQL {
        """
        top AS (
            (SELECT \(sql: list { "\(sql: key($0)), NULL::text AS \(sql: name($0))" }), counted
            FROM folded
            WHERE counted > 0 AND (\(sql: list(key))) NOT IN (
                SELECT \(sql: list(key)) FROM touched WHERE (\(sql: list(key))) IS NOT NULL)
            ORDER BY counted DESC FETCH FIRST \(limit) ROWS WITH TIES)
            UNION ALL
            SELECT \(sql: list { "\(sql: key($0)), \(sql: name($0))" }), counted + step
            FROM touched WHERE counted + step > 0)
        """
    }

    /// How many there are in all.
    private var size: PostgresSQL {
        """
        size AS (
            SELECT whole.total + coalesce(sum_counts(step), 0) AS total,
                whole.groups + count(*) FILTER (WHERE counted <= 0 AND counted + step > 0)
                    - count(*) FILTER (WHERE counted > 0 AND counted + step <= 0) AS groups
            FROM (\(sql: isWhole ? wholeLevel : wholeFolded)) AS whole LEFT JOIN touched ON true
            GROUP BY whole.total, whole.groups)
        """
    }

    private var wholeFolded: PostgresSQL {
        """
        SELECT sum_counts(counted) AS total, count(*) FILTER (WHERE counted > 0) AS groups FROM folded
        """
    }

    private var wholeLevel: PostgresSQL {
        let app = audience.app.rawValue
        return """
            SELECT coalesce((SELECT \(sql: rollUp.count) FROM \(sql: rollUp.table(of: [])) WHERE app_id = \(app)), 0) AS total,
                coalesce((SELECT \(sql: rollUp.count) FROM rollup_size
                    WHERE app_id = \(app) AND level = \(Int16(level.rawValue))), 0) AS groups
            """
    }
}

// MARK: - Names

extension RollUpBreakdown {
    private func named(_ index: Int) -> PostgresSQL {
        let found: PostgresSQL =
            switch groups[index].lookup {
            case .none: "\(sql: key(index))::text"
            case .text, .version: "least(\(sql: found(index)).text, \(sql: name(index)))"
            }
        return "\(sql: key(index)), \(sql: found) AS \(sql: shown(index))"
    }

    private func found(_ index: Int) -> PostgresSQL { PostgresSQL(identifier: "found\(index)") }

    private var lookups: PostgresSQL {
        groups.indices.compactMap { index -> PostgresSQL? in
            let texts: PostgresSQL
            switch groups[index].lookup {
            case .none: return nil
            case .text: texts = "rollup_text"
            case .version: texts = "(\(sql: spellings))"
            }
            return
                " LEFT JOIN \(sql: texts) AS \(sql: found(index)) ON \(sql: found(index)).number = \(sql: key(index))"
        }.joined(separator: "")
    }

    /// Of several spellings of a version the first, which is the shortest one with nothing behind the number.
    private var spellings: PostgresSQL {
        """
        SELECT c.version_number AS number, min(t.text) AS text
        FROM \(sql: rollUp.table(of: [.osVersion, .systemName])) c JOIN rollup_text t ON t.number = c.spelling_number
        WHERE c.app_id = \(audience.app.rawValue) AND c.version_number <> 0 GROUP BY 1
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

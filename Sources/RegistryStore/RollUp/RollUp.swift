import PostgresClient
import PushRegistry

/// Counts of installations by cell, exact in the snapshot of the statement that reads them: what is folded, and what has changed
/// since, be it by a delta that is not folded yet or by the clock.
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

    /// - Parameter asOf: sessions that expired until then are not reachable.
    public init(of app: AppNumber, scope: Scope, asOf: PostgresTimestamp) {
        self.app = app
        self.scope = scope
        self.asOf = asOf
    }

    /// A FROM item, without a name: the columns of these dimensions, named and typed as those of `installation`, and `count`, to
    /// be summed; it may be negative, and zero in sum.
    ///
    /// The version is `system_version_key`, which `version_key` makes of it. `time_zone_offset` says something only where
    /// `known_time_zone` has no `time_zone_id`: elsewhere it is 0.
    public func relation(by dimensions: RollUpDimensions) -> PostgresSQL {
        let columns = dimensions.texts.map { "\(sql: $0.value) AS \(sql: $0.column)" as PostgresSQL }
        return """
            (SELECT \(sql: (columns + ["\(sql: count) AS count"]).joined(separator: ", ")) \
            \(sql: source(at: dimensions.level, with: dimensions)) UNION ALL \(sql: changes(by: dimensions)))
            """
    }

    /// A FROM item: cells of a level, and the texts of these dimensions.
    func cells(at level: RollUpDimensions, with dimensions: RollUpDimensions) -> PostgresSQL {
        let texts = dimensions.texts.filter { $0.join != nil }.map {
            ", \(sql: $0.value) AS \(sql: $0.column)" as PostgresSQL
        }
        return "(SELECT c.*\(sql: texts.joined(separator: "")) \(sql: source(at: level, with: dimensions))) AS cell"
    }

    private func source(at level: RollUpDimensions, with dimensions: RollUpDimensions) -> PostgresSQL {
        let joins = dimensions.texts.compactMap(\.join).map { " \(sql: $0)" as PostgresSQL }.joined(separator: "")
        return "FROM \(sql: table(of: level)) c\(sql: joins) WHERE c.app_id = \(app.rawValue)"
    }

    func table(of level: RollUpDimensions) -> PostgresSQL {
        PostgresSQL(identifier: "rollup_cell_\(level.rawValue)")
    }

    /// The column of cells that counts.
    var count: PostgresSQL {
        switch scope {
        case .reachable: "reachable"
        case .active: "active"
        case .all: "installations"
        }
    }

    /// What has changed since: the columns of these dimensions, and `count`.
    ///
    /// - Parameter isSpelled: whether `system_version` comes too.
    func changes(by dimensions: RollUpDimensions, isSpelled: Bool = false) -> PostgresSQL {
        let columns =
            dimensions.texts.map { $0.change ?? $0.column } + (isSpelled ? ["system_version"] : []) + ["count"]
        return """
            SELECT \(sql: columns.joined(separator: ", ")) FROM rollup_changes(\(app.rawValue), \(asOf)) \
            WHERE \(sql: condition)
            """
    }

    private var condition: PostgresSQL {
        switch scope {
        case .reachable: "reach = 'reachable'"
        case .active: "reach IN ('reachable', 'active')"
        case .all: "true"
        }
    }
}

extension RollUpDimensions {
    /// A column as `installation` has it.
    fileprivate struct Text {
        let column: PostgresSQL
        /// Out of a cell and what is joined to it.
        let value: PostgresSQL
        let join: PostgresSQL?

        /// Out of a change, if it is not there by its name.
        var change: PostgresSQL?
    }

    fileprivate var texts: [Text] {
        var texts: [Text] = []
        if contains(.provider) { texts.append(Text(column: "provider", value: "c.provider", join: nil)) }
        if contains(.locale) { texts.append(.numbered("locale", "text", "locale_number", as: "l")) }
        if contains(.timeZone) { texts.append(.numbered("time_zone_id", "text", "zone_number", as: "z")) }
        if contains(.sentOffset) {
            texts.append(Text(column: "time_zone_offset", value: "c.time_zone_offset", join: nil))
        }
        if contains(.systemName) { texts.append(.numbered("system_name", "text", "system_number", as: "s")) }
        if contains(.osVersion) {
            // There is none for 0, which is no version.
            var version = Text.numbered(
                "system_version_key", "version_key", "version_number", as: "v", by: "LEFT JOIN")
            version.change = "version_key(system_version) AS system_version_key"
            texts.append(version)
        }
        if contains(.authorization) {
            texts.append(Text(column: "authorization_status", value: "c.authorization_status", join: nil))
        }
        return texts
    }
}

extension RollUpDimensions.Text {
    fileprivate static func numbered(
        _ column: PostgresSQL, _ value: PostgresSQL, _ number: PostgresSQL, as name: PostgresSQL,
        by join: PostgresSQL = "JOIN"
    ) -> Self {
        Self(
            column: column, value: "\(sql: name).\(sql: value)",
            join: "\(sql: join) rollup_text \(sql: name) ON \(sql: name).number = c.\(sql: number)")
    }
}

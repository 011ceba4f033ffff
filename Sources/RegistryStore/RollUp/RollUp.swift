import PostgresClient
import PushRegistry

/// Counts of installations by cell, exact in the snapshot of the statement that reads them: what is folded, what is not
/// folded yet, and what the clock takes away.
public enum RollUp {
    /// Which installations count.
    public enum Scope: Sendable {
        /// A push would be let through: as `InstallationRecord.isReachable` has it.
        case reachable
        /// The state is `active`.
        case active
        case all
    }

    /// A FROM item, without a name: the columns of these dimensions, named and typed as those of `installation`, and `count`, to
    /// be summed; it may be negative, and zero in sum.
    ///
    /// Beside `system_version` there is `system_version_key`, which `version_key` makes of it.
    /// `time_zone_offset` says something only where `known_time_zone` has no `time_zone_id`: elsewhere it is 0.
    ///
    /// - Parameter asOf: sessions that expired until then are not reachable.
    public static func relation(
        of app: AppNumber, by dimensions: RollUpDimensions, scope: Scope, asOf: PostgresTimestamp
    ) -> PostgresSQL {
        let columns = PostgresSQL(stringLiteral: dimensions.columns.map { "\($0), " }.joined())
        let level = PostgresSQL(stringLiteral: "\(dimensions.level.rawValue)")
        let counted: PostgresSQL = "app_id = \(app.rawValue)\(sql: scope.condition)"
        var parts: [PostgresSQL] = [
            "SELECT \(sql: columns)count FROM rollup_cell WHERE level = \(sql: level) AND \(sql: counted)",
            "SELECT \(sql: columns)count FROM rollup_pending WHERE \(sql: counted)",
        ]
        if scope == .reachable { parts += clock(columns, app, asOf) }
        return "(\(sql: parts.joined(separator: " UNION ALL ")))"
    }

    /// Sessions that expired between the moment until which cells know it and `asOf`, whichever is the earlier.
    private static func clock(_ columns: PostgresSQL, _ app: AppNumber, _ asOf: PostgresTimestamp) -> [PostgresSQL] {
        [
            """
            SELECT \(sql: columns)-1 FROM rollup_installation
            WHERE app_id = \(app.rawValue) AND state = 'active' AND reach = 'reachable'
                AND session_expires_at > (SELECT rollup_swept()) AND session_expires_at <= \(asOf)
            """,
            """
            SELECT \(sql: columns)1 FROM rollup_installation
            WHERE app_id = \(app.rawValue) AND state = 'active'
                AND reach_of(state, authorization_status, provider, NULL, NULL) = 'reachable'
                AND session_expires_at <= (SELECT rollup_swept()) AND session_expires_at > \(asOf)
            """,
        ]
    }
}

extension RollUp.Scope {
    fileprivate var condition: PostgresSQL {
        switch self {
        case .reachable: " AND reach = 'reachable'"
        case .active: " AND reach IN ('reachable', 'active')"
        case .all: ""
        }
    }
}

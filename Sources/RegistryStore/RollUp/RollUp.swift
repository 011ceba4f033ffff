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
        if scope == .reachable {
            parts.append(
                """
                SELECT \(sql: columns)-1 FROM rollup_installation
                WHERE \(sql: counted) AND state = 'active' AND session_expires_at <= \(asOf)
                """)
        }
        return "(\(sql: parts.joined(separator: " UNION ALL ")))"
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

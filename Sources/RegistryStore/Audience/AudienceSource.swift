import PostgresClient
import PushRegistry

/// Where an audience is found: rows with the columns of `installation`, each of which stands for a number of installations.
struct AudienceSource {
    let isRollUp: Bool
    /// A FROM item.
    let from: PostgresSQL
    /// What is so of the rows of the app and of what is included.
    let condition: PostgresSQL
    /// How many installations a group of rows stands for; never NULL.
    let count: PostgresSQL

    /// What the version in a column is compared by. The roll-up keeps it.
    func versionKey(of column: PostgresSQL) -> PostgresSQL {
        isRollUp ? "system_version_key" : "version_key(\(sql: column))"
    }

    /// Where these fields are found, the filter's among them: in the roll-up if it tells them all.
    static func counting(
        _ audience: Audience, by fields: Set<AudienceField>, at asOf: Timestamp
    ) -> AudienceSource {
        let used = audience.filter.fields.union(fields)
        let dimensions = used.compactMap(\.dimension)
        guard dimensions.count == used.count else { return installations(audience, at: asOf) }
        return rollUp(audience, by: RollUpDimensions(dimensions), at: asOf)
    }

    private static func rollUp(
        _ audience: Audience, by dimensions: RollUpDimensions, at asOf: Timestamp
    ) -> AudienceSource {
        let scope: RollUp.Scope =
            switch audience.include {
            case .reachable: .reachable
            case .active: .active
            case .all: .all
            }
        let relation = RollUp.relation(of: audience.app, by: dimensions, scope: scope, asOf: asOf.postgres)
        return AudienceSource(
            isRollUp: true, from: "\(sql: relation) AS cell", condition: "true",
            count: "coalesce(sum(count), 0)::bigint")
    }

    /// The rows of installations: answers everything.
    static func installations(_ audience: Audience, at asOf: Timestamp) -> AudienceSource {
        AudienceSource(
            isRollUp: false, from: "installation",
            condition: "app_id = \(audience.app.rawValue)\(sql: included(audience.include, at: asOf))",
            count: "count(*)")
    }

    /// As `InstallationRecord.isReachable` has it.
    private static func included(_ include: AudienceInclude, at asOf: Timestamp) -> PostgresSQL {
        switch include {
        case .all: ""
        case .active: " AND state = 'active'"
        case .reachable:
            """
             AND state = 'active' AND (session_expires_at IS NULL OR session_expires_at > \(asOf.postgres)) AND \
            (authorization_status IN ('authorized', 'provisional', 'ephemeral') \
            OR authorization_status = 'unknown' AND provider NOT IN ('apns', 'apnsSandbox'))
            """
        }
    }
}

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

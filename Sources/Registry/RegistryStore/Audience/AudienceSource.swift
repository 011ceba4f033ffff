import PostgresClient
import PushRegistry

/// The source of an audience: rows with the columns of `installation`.
struct AudienceSource {
    /// A FROM item.
    let from: PostgresSQL
    /// A condition that selects the rows of the app and of the included installations.
    let condition: PostgresSQL

    /// The expression of a field; for a setting, its code.
    static func column(_ field: AudienceField) -> PostgresSQL {
        field.settingCode ?? field.column ?? ZoneOffsets.utcOffset
    }

    /// The key by which a version is compared.
    static func versionKey(of column: PostgresSQL) -> PostgresSQL { "version_key(\(sql: column))" }

    /// One row for each topic to which an installation is subscribed; the column `topic` has the slug.
    static func subscriptions(_ audience: Audience, at asOf: Timestamp) -> AudienceSource {
        let topics = audience.topics.topics
        let isIn = topics.map(\.content.isInByDefault)
        let subscriptions: PostgresSQL = """
            (SELECT t.slug FROM unnest(\(topics.map(\.slug.rawValue)), \(topics.map(\.number.rawValue)), \(isIn), \
            \(topics.map(\.content.isLocked))) AS t (slug, number, is_in, is_locked) \
            WHERE is_locked OR CASE WHEN number = ANY (topics) THEN true WHEN -number = ANY (topics) THEN false \
            ELSE is_in END)
            """
        let installations = installations(audience, at: asOf)
        return AudienceSource(
            from: "installation CROSS JOIN LATERAL \(sql: subscriptions) AS subscription (topic)",
            condition: installations.condition)
    }

    /// The rows of installations, which have every field.
    static func installations(_ audience: Audience, at asOf: Timestamp) -> AudienceSource {
        AudienceSource(
            from: "installation",
            condition: "app_id = \(audience.app.rawValue)\(sql: included(audience.include, at: asOf))")
    }

    private static func included(_ include: AudienceInclude, at asOf: Timestamp) -> PostgresSQL {
        switch include {
        case .all: ""
        case .active: " AND state = 'active'"
        case .reachable: " AND state = 'active' AND \(sql: isReachable(at: asOf))"
        }
    }

    /// Whether an active installation is reachable, as `InstallationRecord.isReachable` has it.
    static func isReachable(at asOf: Timestamp) -> PostgresSQL {
        """
        (session_expires_at IS NULL OR session_expires_at > \(asOf.postgres)) AND \
        (settings & 15 IN (\(sql: codes(of: [.authorized, .provisional, .ephemeral]))) OR settings >> 48 & 15 = 1 \
        OR settings & 15 = \(sql: codes(of: [.unknown])) AND provider NOT IN ('apns', 'apnsSandbox'))
        """
    }
}

extension AudienceSource {
    private static func codes(of statuses: [AuthorizationStatus]) -> PostgresSQL {
        PostgresSQL(
            trusted: statuses.compactMap(AuthorizationStatus.allCases.firstIndex).map(String.init).joined(
                separator: ", "))
    }
}

extension AudienceFilter {
    /// The topics in the filter that are not locked, so that installations may have left them.
    var openTopics: Set<Topic> { topics.filter { !$0.content.isLocked } }
}

import PostgresClient
import PushRegistry

/// The source of an audience: rows with the columns of `installation`, each of which represents a number of
/// installations.
struct AudienceSource {
    /// Nil if the installations are read.
    let rollUp: RollUp?
    /// A FROM item.
    let from: PostgresSQL
    /// A condition that selects the rows of the app and of the included installations.
    let condition: PostgresSQL
    /// How many installations a group of rows represents; never NULL.
    let count: PostgresSQL

    /// The key by which a version is compared. The roll-up keeps it.
    func versionKey(of column: PostgresSQL) -> PostgresSQL {
        rollUp == nil ? "version_key(\(sql: column))" : "system_version_key"
    }

    /// The expression of a field; for a setting of `installation`, its code.
    func column(_ field: AudienceField) -> PostgresSQL {
        if rollUp != nil, field == .authorizationStatus { return "authorization_status" }
        return field.settingCode ?? field.column ?? ZoneOffsets.utcOffset
    }

    /// The source of these fields and of the filter's: the roll-up if it has them all, and if the filter has at most
    /// one topic that is not locked. The roll-up counts the choices about each topic separately, not those about
    /// several.
    static func counting(
        _ audience: Audience, by fields: Set<AudienceField>, at moment: AudienceMoment
    ) -> AudienceSource {
        let used = audience.filter.fields.union(fields)
        let topics = audience.filter.openTopics
        guard let dimensions = RollUpDimensions(of: used), topics.count <= 1, !fields.contains(.topic),
            !moment.overflows || dimensions.isSubset(of: [.provider, .authorization])
        else { return installations(audience, at: moment.asOf) }
        let rollUp = RollUp(of: audience.app, scope: .init(audience.include), asOf: moment.asOf.postgres)
        let relation =
            topics.first.map { rollUp.relation(by: dimensions, splitBy: $0) } ?? rollUp.relation(by: dimensions)
        return AudienceSource(
            rollUp: rollUp, from: "\(sql: relation) AS cell", condition: "true", count: "sum_counts(count)")
    }

    /// One row for each topic to which an installation is subscribed; the column `topic` has the slug. The source is
    /// the roll-up if it has all these fields with their names, and if the filter has only locked topics or none.
    static func subscriptions(
        _ audience: Audience, by fields: [AudienceField], at moment: AudienceMoment
    ) -> AudienceSource {
        let used = audience.filter.fields.union(fields)
        guard let dimensions = RollUpDimensions(of: used), audience.filter.openTopics.isEmpty,
            !fields.contains(.osVersion),
            !moment.overflows || dimensions.isSubset(of: [.provider, .authorization])
        else { return subscriptions(audience, at: moment.asOf) }
        let rollUp = RollUp(of: audience.app, scope: .init(audience.include), asOf: moment.asOf.postgres)
        let relation = rollUp.subscriptions(by: dimensions, to: audience.topics.topics)
        return AudienceSource(
            rollUp: rollUp, from: "\(sql: relation) AS cell", condition: "true", count: "sum_counts(count)")
    }

    /// The same from the rows of installations.
    private static func subscriptions(_ audience: Audience, at asOf: Timestamp) -> AudienceSource {
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
            rollUp: nil, from: "installation CROSS JOIN LATERAL \(sql: subscriptions) AS subscription (topic)",
            condition: installations.condition, count: installations.count)
    }

    /// The rows of installations, which have every field.
    static func installations(_ audience: Audience, at asOf: Timestamp) -> AudienceSource {
        AudienceSource(
            rollUp: nil, from: "installation",
            condition: "app_id = \(audience.app.rawValue)\(sql: included(audience.include, at: asOf))",
            count: "count(*)")
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

extension RollUp.Scope {
    fileprivate init(_ include: AudienceInclude) {
        switch include {
        case .reachable: self = .reachable
        case .active: self = .active
        case .all: self = .all
        }
    }
}

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
            from: "\(sql: installations.from) CROSS JOIN LATERAL \(sql: subscriptions) AS subscription (topic)",
            condition: installations.condition)
    }

    /// The rows of installations, which have every field; or a row for each typed token that is handed out.
    static func installations(_ audience: Audience, at asOf: Timestamp) -> AudienceSource {
        let typed = audience.tokens.map { tokens -> PostgresSQL in
            """
             JOIN \(sql: handedOut(tokens, of: audience.app, at: asOf)) AS handed_out \
            ON token_app_id = app_id AND token_install_id = install_id
            """
        }
        return AudienceSource(
            from: "installation\(sql: typed ?? "")",
            condition: "app_id = \(audience.app.rawValue)\(sql: included(audience, at: asOf))")
    }

    /// The typed tokens that are handed out, of installations in any state: they have not expired and are not held.
    private static func handedOut(_ tokens: HandedOutTokens, of app: AppNumber, at asOf: Timestamp) -> PostgresSQL {
        let name = tokens.name.map { name -> PostgresSQL in " AND name = \(name)" }
        return """
            (SELECT app_id AS token_app_id, install_id AS token_install_id, name AS token_name, \
            provider AS token_provider, token AS token_text, expires_at AS token_expires_at FROM typed_token \
            WHERE app_id = \(app.rawValue) AND kind = \(sql: PostgresSQL(literal: tokens.kind.rawValue)) \
            AND NOT held AND (expires_at IS NULL OR expires_at > \(asOf.postgres))\(sql: name ?? ""))
            """
    }

    private static func included(_ audience: Audience, at asOf: Timestamp) -> PostgresSQL {
        switch audience.include {
        case .all: ""
        case .active: " AND state = 'active'"
        case .reachable: " AND state = 'active' AND \(sql: isReachable(at: asOf, to: audience.tokens?.kind))"
        }
    }

    /// Whether a push reaches an active installation, as `Reachability` has it.
    private static func isReachable(at asOf: Timestamp, to kind: TokenKind?) -> PostgresSQL {
        let isInSession: PostgresSQL = "(session_expires_at IS NULL OR session_expires_at > \(asOf.postgres))"
        return kind?.requiresAuthorization ?? true ? "\(sql: isInSession) AND \(sql: allowsPushes)" : isInSession
    }

    private static var allowsPushes: PostgresSQL {
        """
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

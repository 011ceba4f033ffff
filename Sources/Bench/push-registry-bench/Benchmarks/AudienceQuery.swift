import Basics
import PostgresClient
import PushRegistry

/// An audience query, and the SQL that counts the same installations without the roll-up.
struct AudienceQuery: Sendable {
    let title: String
    /// The number of the roll-up's dimensions in filter and breakdown.
    let dimensions: Int
    let filter: AudienceFilter
    /// The fields of the breakdown; empty for a count.
    let by: [AudienceField]
    /// Of the typed tokens that are counted instead of installations; a tenth of those of APNs has one.
    let kind: TokenKind?
    /// The filter as SQL.
    let condition: PostgresSQL
    /// Whether it is about the topic, which a tenth of the installations has left.
    var hasTopic: Bool { filter.fields.union(by).contains(.topic) }

    var isSmall: Bool { dimensions <= 2 && !hasTopic }
    /// Milliseconds of the median.
    var medianMax: Double { hasTopic ? 100 : isSmall ? 5 : 20 }

    private init(
        _ title: String, _ dimensions: Int, _ filter: AudienceFilter, by: [AudienceField] = [],
        of kind: TokenKind? = nil, _ condition: PostgresSQL
    ) {
        self.title = title
        self.dimensions = dimensions
        self.filter = filter
        self.by = by
        self.kind = kind
        self.condition = condition
    }

    func baseline(of app: AppNumber) -> PostgresStatement {
        guard kind == nil else { return tokenBaseline(of: app) }
        return """
            SELECT count(*) FROM installation
            WHERE app_id = \(app.rawValue) AND state = 'active'
                AND (session_expires_at IS NULL OR session_expires_at > now())
                AND (settings & 15 IN (2, 3, 4) OR settings & 15 = 5 AND provider NOT IN ('apns', 'apnsSandbox'))
                AND \(sql: condition)
            """
    }

    private func tokenBaseline(of app: AppNumber) -> PostgresStatement {
        """
        SELECT count(*) FROM typed_token t JOIN installation i USING (app_id, install_id)
        WHERE app_id = \(app.rawValue) AND kind = 'voip' AND NOT held AND coalesce(t.expires_at > now(), true)
            AND state = 'active' AND (session_expires_at IS NULL OR session_expires_at > now()) AND \(sql: condition)
        """
    }

    /// The best index for these queries: it covers all columns that they read, in the order of the most common filter.
    static let bestIndex = """
        CREATE INDEX audience_best ON installation (app_id, locale, time_zone_id, system_version)
        INCLUDE (provider, settings, state, session_expires_at) WHERE state = 'active'
        """

    static func all(_ topic: Topic) throws -> [AudienceQuery] {
        let german = AudienceFilter.condition(.locale, .oneOf([.locale(LocaleIdentifier("de"))]))
        let recent = AudienceFilter.condition(.osVersion, .ordered(.greaterOrEqual, .version(try version("17"))))
        let berlin = AudienceFilter.condition(.timeZone, .oneOf([.text("Europe/Berlin")]))
        let isGerman: PostgresSQL = "(locale = 'de' OR locale >= 'de_' AND locale < 'de`')"
        let subscribers = AudienceFilter.condition(.topic, .oneOf([.topic(topic)]))
        let isSubscribed: PostgresSQL = "(\(-topic.number.rawValue) = ANY (topics)) IS NOT TRUE"
        return [
            .init("count, topic", 1, subscribers, isSubscribed),
            .init(
                "count, topic and locale", 2, .all([subscribers, german]), "\(sql: isGerman) AND \(sql: isSubscribed)"),
            .init("breakdown by topic", 1, .everybody, by: [.topic], "true"),
            .init("breakdown by topic, one locale", 2, german, by: [.topic], isGerman),
            .init("count, locale", 1, german, isGerman),
            .init("count of typed tokens", 1, .everybody, of: .voip, "true"),
            .init(
                "typed tokens by locale, zone", 2, .everybody, by: [.locale, .timeZone], of: .voip, "true"),
            .init("breakdown by time zone", 1, .everybody, by: [.timeZone], "true"),
            .init(
                "count, locale and OS version", 2, .all([german, recent]),
                "\(sql: isGerman) AND version_key(system_version) >= '{17}'"),
            .init("breakdown by locale, authorization", 2, .everybody, by: [.locale, .authorizationStatus], "true"),
            .init(
                "count, locale, zone and OS version", 3, .all([german, berlin, recent]),
                """
                \(sql: isGerman) AND time_zone_id = 'Europe/Berlin' AND version_key(system_version) >= '{17}'
                """),
            .init(
                "breakdown by OS version, one locale, zone", 3, .all([german, berlin]), by: [.osVersion],
                "\(sql: isGerman) AND time_zone_id = 'Europe/Berlin'"),
            .init("breakdown by locale, zone", 2, .everybody, by: [.locale, .timeZone], "true"),
            .init("breakdown by UTC offset, OS version", 2, .everybody, by: [.utcOffset, .osVersion], "true"),
            .init(
                "breakdown by locale, zone, OS version", 3, .everybody, by: [.locale, .timeZone, .osVersion], "true"),
        ]
    }

    private static func version(_ text: String) throws -> Version {
        guard let version = Version(text) else { throw BenchmarkFailure("\(text) is not a version") }
        return version
    }
}

import PostgresClient
import PushRegistry

/// How a breakdown of the roll-up groups by a field: cells by a small key, which gets its name only where it is among the largest.
struct RollUpGroup {
    /// Of a cell `c`.
    let key: PostgresSQL
    /// What changes are grouped by instead: they have texts, which may have no number yet.
    let value: PostgresSQL
    /// The name, of a group of changes; NULL where nothing has that value any more.
    let name: PostgresSQL
    /// The key of a value, `value` in what is given; NULL for one that no cell has.
    let number: @Sendable (_ value: PostgresSQL) -> PostgresSQL
    /// How a key's name is found.
    let lookup: Lookup

    enum Lookup {
        /// The key is the name.
        case none
        case text
        /// The first of its spellings that the app has.
        case version
    }

    /// Nil for what the roll-up does not tell.
    init?(_ field: AudienceField) {
        switch field {
        case .provider: self.init(asItIs: "provider")
        case .authorizationStatus: self.init(asItIs: "authorization_status")
        case .utcOffset: self.init(asItIs: ZoneOffsets.utcOffset)
        case .locale: self.init(text: "locale", key: "locale_number")
        case .timeZone: self.init(text: "time_zone_id", key: "zone_number")
        case .systemName: self.init(text: "system_name", key: "system_number")
        case .osVersion: self.init(version: "version_number")
        default: return nil
        }
    }

    private init(asItIs key: PostgresSQL) {
        (self.key, value, name, number, lookup) = (key, key, "min((\(sql: key))::text)", { $0 }, .none)
    }

    private init(text: PostgresSQL, key: PostgresSQL) {
        (self.key, value, name, lookup) = (key, text, "min(\(sql: text))", .text)
        number = { "(SELECT number FROM rollup_text WHERE text = \(sql: $0))" }
    }

    private init(version key: PostgresSQL) {
        (self.key, value, lookup) = (key, "system_version_key", .version)
        name = "min(system_version) FILTER (WHERE count > 0 AND system_version_key IS NOT NULL)"
        // All texts of a version have the same number, and what is no version has 0.
        number = {
            """
            CASE WHEN \(sql: $0) IS NULL THEN 0
                ELSE (SELECT version_number FROM rollup_text WHERE version_key = \(sql: $0) LIMIT 1) END
            """
        }
    }
}

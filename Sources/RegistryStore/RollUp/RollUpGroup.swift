import PostgresClient
import PushRegistry

/// How a breakdown of the roll-up groups by a field: by a number, which gets its name only where it is among the
/// largest.
struct RollUpGroup {
    /// Of a cell.
    let key: PostgresSQL
    let name: Name

    enum Name {
        /// The key is the name.
        case key
        case text
        /// The text of a zone, or no name.
        case zone
        /// The first of its spellings that the app has.
        case spelling
    }

    /// Nil for fields that the roll-up does not have.
    init?(_ field: AudienceField) {
        switch field {
        case .provider: (key, name) = ("provider", .key)
        case .authorizationStatus: (key, name) = ("authorization_status", .key)
        case .utcOffset: (key, name) = (ZoneOffsets.utcOffset, .key)
        case .locale: (key, name) = ("locale_number", .text)
        case .timeZone: (key, name) = ("zone_number", .zone)
        case .systemName: (key, name) = ("system_number", .text)
        case .osVersion: (key, name) = ("version_number", .spelling)
        default: return nil
        }
    }
}

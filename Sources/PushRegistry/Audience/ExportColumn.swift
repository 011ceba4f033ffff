/// What an export reads of an installation.
public enum ExportColumn: Hashable, Sendable {
    case field(AudienceField)
    case installID, token, generation, userID
    /// What an import needs besides, to make the same installation of a row.
    case keychainID, vendorID, languages, sessionID, sessionExpiresAt
    /// Of a Web Push subscription.
    case p256dh, auth

    /// What a column's cells are.
    public enum Kind: Hashable, Sendable {
        /// UTF-8.
        case text
        /// Of four or eight bytes, big-endian.
        case integer
        /// A byte, 0 or 1.
        case flag
        /// Microseconds since 2000-01-01T00:00:00Z in eight bytes, big-endian.
        case time
        /// Text: a pair of numbers with a space between them, north and east.
        case location
        /// A JSON text.
        case json
    }

    public var kind: Kind {
        switch self {
        case .generation, .field(.utcOffset): .integer
        case .field(.providesAppNotificationSettings): .flag
        case .field(.lastSeenAt), .field(.createdAt), .sessionExpiresAt: .time
        case .languages: .json
        case .field(.location): .location
        default: .text
        }
    }
}

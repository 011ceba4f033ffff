/// A column that an export reads.
public enum ExportColumn: Hashable, Sendable {
    case field(AudienceField)
    case installID, token, generation, userID
    /// Columns that an import needs to create the same installation.
    case keychainID, vendorID, languages, sessionID, sessionExpiresAt
    /// The keys of a Web Push subscription.
    case p256dh, auth
    /// The number of the installation's cell in the roll-up.
    case cell
    case opaqueID
    /// Of a typed token.
    case environment, tokenName, tokenExpiresAt
    /// Of rows of typed tokens: what `AudiencePosition` has of a row. An installation id, a space and the name, `-` for
    /// none; or an opaque id and the name's digest.
    case place

    /// The format of a column's cells.
    public enum Kind: Hashable, Sendable {
        /// UTF-8.
        case text
        /// Four or eight bytes, big-endian.
        case integer
        /// One byte, 0 or 1.
        case flag
        /// Microseconds since 2000-01-01T00:00:00Z in eight bytes, big-endian.
        case time
        /// Two decimal numbers separated by a space: latitude and longitude.
        case location
        /// A JSON text.
        case json
        /// The bytes of an `OpaqueID`.
        case opaqueID
    }

    public var kind: Kind {
        switch self {
        case .generation, .cell, .field(.utcOffset): .integer
        case .field(.providesAppNotificationSettings): .flag
        case .field(.lastSeenAt), .field(.createdAt), .sessionExpiresAt, .tokenExpiresAt: .time
        case .languages: .json
        case .opaqueID: .opaqueID
        case .field(.location): .location
        default: .text
        }
    }
}

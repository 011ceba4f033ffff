import PostgresClient
import PushRegistry

extension AudienceField {
    /// The column of `installation` that holds the field; nil for a field of several columns, and for settings, which
    /// share one.
    var column: PostgresSQL? {
        switch self {
        case .provider: "provider"
        case .locale: "locale"
        case .language: "language"
        case .region: "region"
        case .timeZone: ZoneOffsets.zone(of: "time_zone_id")
        case .systemName: "system_name"
        case .osVersion: "system_version"
        case .appVersion: "app_version"
        case .deviceModel: "device_model"
        case .carrier: "carrier"
        case .appStore: "app_store"
        case .userID: "user_id"
        case .lastSeenAt: "last_seen_at"
        case .createdAt: "created_at"
        case .topic: "topic"
        case .addressKind: TokenColumns.addressKind
        default: nil
        }
    }

    /// The code of a setting in a row of `installation`; nil for other fields.
    var settingCode: PostgresSQL? {
        PackedSettings.digit(of: self).map { "(settings >> \(sql: PostgresSQL(trusted: "\(4 * $0)")) & 15)" }
    }

    /// Whether the field also needs the present offsets of the zones.
    var needsZones: Bool { self == .utcOffset || self == .localTime }
}

/// The offsets of all zones at a moment, as the table expression `zone (zone_name, utc_offset)`.
enum ZoneOffsets {
    /// Zones that PostgreSQL does not know have the offset that the device sent. NULL if an import knew neither.
    static let utcOffset: PostgresSQL = """
        coalesce(utc_offset, nullif(time_zone_offset, \(sql: noOffset)))
        """

    /// Materialized, so that it is computed once for each zone and not for each row.
    ///
    /// - Parameter app: leaves out the zones that none of its cells has. A session reads a file for each zone when it
    ///   first computes its offset, which takes 0.1 s for all zones. Nil if rows of installations are read.
    static func definition(at asOf: Timestamp, of app: AppNumber?) -> PostgresSQL {
        let used: PostgresSQL =
            app.map { app in
                """
                 WHERE EXISTS (\
                SELECT FROM rollup_text WHERE app_id = \(app.rawValue) AND text = name)
                """
            } ?? ""
        return """
            zone (zone_name, utc_offset) AS MATERIALIZED (
                SELECT name, extract(epoch FROM
                    (\(asOf.postgres) AT TIME ZONE name) - (\(asOf.postgres) AT TIME ZONE 'UTC'))::integer
                FROM known_time_zone\(sql: used))
            """
    }

    /// The zone of a row, or of a text of cells; NULL for none.
    static func zone(of name: PostgresSQL) -> PostgresSQL {
        "nullif(\(sql: name), \(sql: PostgresSQL(literal: Device.noTimeZone)))"
    }

    /// The offset of an installation of which neither zone nor offset is known.
    static let noOffset = PostgresSQL(trusted: String(Device.noTimeZoneOffset))

    static let join: PostgresSQL = "LEFT JOIN zone ON zone_name = time_zone_id"
}

/// What follows from the token of a row of `installation`, as `Token` has it.
package enum TokenColumns {
    /// `Token.address`; NULL without a token.
    package static let address: PostgresSQL = """
        CASE WHEN provider = 'fcm' AND token ~ '^[c-f][A-Za-z0-9_-]{21}(:|$)' THEN substr(token, 1, 22) \
        ELSE token END
        """

    /// `Token.addressKind`; NULL without a token. A regular expression that counts would take three times as long.
    package static let addressKind: PostgresSQL = """
        CASE WHEN token IS NULL THEN NULL WHEN provider = 'webPush' THEN 'subscription' \
        WHEN provider = 'fcm' AND octet_length(token) = 22 AND token ~ '^[c-f][A-Za-z0-9_-]*$' THEN 'fid' \
        ELSE 'token' END
        """
}

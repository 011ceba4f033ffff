import PostgresClient
import PushRegistry

/// The columns of a snapshot, the same in `installation` and `settings_snapshot`.
package enum SnapshotColumns {
    typealias Column = BatchColumns<Snapshot>.Column

    package static let batch = BatchColumns<Snapshot>(settings + device)

    private static let settings: [Column] = [
        Column("authorization_status", "text", cast: "authorization_status") {
            $0.settings.authorizationStatus.rawValue
        },
        Column("sound_setting", "text", cast: "notification_setting") { $0.settings.soundSetting.rawValue },
        Column("badge_setting", "text", cast: "notification_setting") { $0.settings.badgeSetting.rawValue },
        Column("alert_setting", "text", cast: "notification_setting") { $0.settings.alertSetting.rawValue },
        Column("notification_center_setting", "text", cast: "notification_setting") {
            $0.settings.notificationCenterSetting.rawValue
        },
        Column("lock_screen_setting", "text", cast: "notification_setting") { $0.settings.lockScreenSetting.rawValue },
        Column("car_play_setting", "text", cast: "notification_setting") { $0.settings.carPlaySetting.rawValue },
        Column("critical_alert_setting", "text", cast: "notification_setting") {
            $0.settings.criticalAlertSetting.rawValue
        },
        Column("announcement_setting", "text", cast: "notification_setting") {
            $0.settings.announcementSetting.rawValue
        },
        Column("alert_style", "text", cast: "alert_style") { $0.settings.alertStyle.rawValue },
        Column("show_previews_setting", "text", cast: "show_previews_setting") {
            $0.settings.showPreviewsSetting.rawValue
        },
        Column("provides_app_notification_settings", "boolean") { $0.settings.providesAppNotificationSettings },
    ]

    private static let device: [Column] = [
        Column("keychain_id", "text") { $0.device.keychainID },
        Column("vendor_id", "text") { $0.device.vendorID },
        Column("advertising_id", "text") { $0.device.advertisingID },
        Column("app_version", "text") { $0.device.appVersion },
        Column("device_model", "text") { $0.device.deviceModel },
        Column("system_name", "text") { $0.device.systemName },
        Column("system_version", "text") { $0.device.systemVersion },
        Column("locale", "text") { $0.device.locale.text },
        Column("language", "text") { $0.device.language },
        Column("languages", alone: { $0.device.languages }, asText: { arrayLiteral($0.device.languages) }),
        Column("region", "text") { $0.device.region },
        Column("time_zone_id", "text") { $0.device.timeZoneID },
        Column("time_zone_offset", "integer") { $0.device.timeZoneOffset },
        Column("carrier", "text") { $0.device.carrier },
        Column("app_store", "text") { $0.device.appStore },
        Column("latitude", "double precision") { $0.device.location?.latitude },
        Column("longitude", "double precision") { $0.device.location?.longitude },
    ]

    /// Reads the columns, in the order above, from `first` on. What is stored is canonical already.
    static func decode(_ row: PostgresRow, from first: Int, installID: InstallID) throws -> Snapshot {
        var reader = ColumnReader(row, from: first)
        let settings = try decodeSettings(&reader)
        return Snapshot(settings: settings, device: try decodeDevice(&reader, installID))
    }

    private static func decodeSettings(_ reader: inout ColumnReader) throws -> NotificationSettings {
        var settings = NotificationSettings()
        settings.authorizationStatus = try reader.nextSetting()
        settings.soundSetting = try reader.nextSetting()
        settings.badgeSetting = try reader.nextSetting()
        settings.alertSetting = try reader.nextSetting()
        settings.notificationCenterSetting = try reader.nextSetting()
        settings.lockScreenSetting = try reader.nextSetting()
        settings.carPlaySetting = try reader.nextSetting()
        settings.criticalAlertSetting = try reader.nextSetting()
        settings.announcementSetting = try reader.nextSetting()
        settings.alertStyle = try reader.nextSetting()
        settings.showPreviewsSetting = try reader.nextSetting()
        settings.providesAppNotificationSettings = try reader.next()
        return settings
    }

    private static func decodeDevice(_ reader: inout ColumnReader, _ installID: InstallID) throws -> Device {
        Device(
            installID: installID, keychainID: try reader.next(), vendorID: try reader.next(),
            advertisingID: try reader.next(), appVersion: try reader.next(), deviceModel: try reader.next(),
            systemName: try reader.next(), systemVersion: try reader.next(),
            locale: LocaleIdentifier(try reader.next()),
            language: try reader.next(), languages: try reader.next(), region: try reader.next(),
            timeZoneID: try reader.next(), timeZoneOffset: try reader.next(), carrier: try reader.next(),
            appStore: try reader.next(),
            location: try Location(stored: reader.next(), longitude: reader.next()))
    }
}

/// Decodes the columns of a row one after another.
struct ColumnReader {
    private let row: PostgresRow
    private var column: Int

    init(_ row: PostgresRow, from column: Int = 0) {
        self.row = row
        self.column = column
    }

    var position: Int { column }

    mutating func nextSetting<Setting: OpenSetting>() throws -> Setting {
        Setting(sent: try next(String.self))
    }

    mutating func next<Value: PostgresDecodable>(_ type: Value.Type = Value.self) throws -> Value {
        defer { column += 1 }
        return try row.decode(column)
    }
}

extension Location {
    /// Nil where there is none; the schema keeps both columns or neither.
    fileprivate init?(stored latitude: Double?, longitude: Double?) {
        guard let latitude, let longitude else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }
}

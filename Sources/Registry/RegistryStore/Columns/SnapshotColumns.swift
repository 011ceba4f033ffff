import PostgresClient
import PushRegistry

/// The columns of a snapshot, the same in `installation` and `settings_snapshot`.
package enum SnapshotColumns {
    typealias Column = BatchColumns<Snapshot>.Column

    package static let batch = BatchColumns<Snapshot>(columns)

    private static let columns: [Column] = [
        Column("settings", "bigint") { PackedSettings.encode($0.settings) },
        Column("keychain_id", "text") { $0.device.keychainID },
        Column("vendor_id", "text") { $0.device.vendorID },
        Column("advertising_id", "text") { $0.device.advertisingID },
        Column("app_version", "text") { $0.device.appVersion },
        Column("device_model", "text") { $0.device.deviceModel },
        Column("system_name", "text") { $0.device.systemName },
        Column("system_version", "text") { $0.device.systemVersion },
        Column("locale", "text") { $0.device.locale.text },
        Column("language", "text") { $0.device.language },
        Column("languages", texts: { $0.device.languages }),
        Column("region", "text") { $0.device.region },
        Column("time_zone_id", "text") { $0.device.timeZoneID },
        Column("time_zone_offset", "integer") { $0.device.timeZoneOffset },
        Column("carrier", "text") { $0.device.carrier },
        Column("app_store", "text") { $0.device.appStore },
        Column("latitude", "double precision") { $0.device.location?.latitude },
        Column("longitude", "double precision") { $0.device.location?.longitude },
    ]

    /// Reads the columns, in the order above, from `first` on. Stored values are canonical already.
    static func decode(_ row: PostgresRow, from first: Int, installID: InstallID) throws -> Snapshot {
        var reader = ColumnReader(row, from: first)
        let settings = PackedSettings.decode(try reader.next())
        return Snapshot(settings: settings, device: try decodeDevice(&reader, installID))
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

extension Location {
    /// Nil without a value; the schema requires both columns or neither.
    fileprivate init?(stored latitude: Double?, longitude: Double?) {
        guard let latitude, let longitude else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }
}

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

/// The SQL of snapshots that were replaced: the table `settings_snapshot`. The present one is in `installation`.
enum SnapshotStatements {
    /// - Parameter installations: each with the revision that was read.
    static func keep(
        _ installations: [(id: InstallID, revision: Int64)], in app: AppNumber, at time: Timestamp
    ) -> PostgresStatement {
        keep(app.rawValue, time.postgres, installations.map(\.id.rawValue), installations.map(\.revision))
    }

    /// PUT …/installations/{id} (R2): copies the snapshots that the same transaction replaces afterwards, if it finds
    /// the same revisions. The id of a snapshot is the revision of the row that had it.
    static let keep = PreparedSQL(
        """
        INSERT INTO settings_snapshot (id, replaced_at, at, app_id, install_id, sender, \(sql: names))
        SELECT i.revision, greatest($2, i.snapshot_at), i.snapshot_at, i.app_id, i.install_id, i.snapshot_sender,
            \(sql: SnapshotColumns.batch.list.names(of: "i"))
        FROM unnest($3::text[], $4::bigint[]) AS k (install_id, revision)
            JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.revision
        """)

    private static var names: PostgresSQL { SnapshotColumns.batch.list.names }

    /// The present snapshot first, then the replaced ones. The page begins below the id `$3`; for the first page, `$3`
    /// is the largest number.
    static let page = PreparedSQL(
        """
        SELECT * FROM (
            SELECT \(sql: presentID) AS id, i.snapshot_at AS at, \(sql: names)
            FROM installation i WHERE i.app_id = $1 AND i.install_id = $2
            UNION ALL
            (SELECT id, at, \(sql: names) FROM settings_snapshot s
            WHERE s.app_id = $1 AND s.install_id = $2 AND s.id < $3 ORDER BY s.id DESC LIMIT $4)) AS snapshot
        WHERE id < $3 ORDER BY id DESC LIMIT $4
        """)

    /// Above the ids of all that were replaced.
    private static let presentID: PostgresSQL = "9223372036854775806::bigint"

    /// DELETE …/installations/{installId}, DELETE …/users/{userId}: deletes replaced snapshots.
    static let delete = PreparedSQL(
        """
        DELETE FROM settings_snapshot s USING unnest($2::text[]) AS k (install_id)
        WHERE s.app_id = $1 AND s.install_id = k.install_id
        """)

    /// DELETE …/users/{userId}: deletes snapshots that the user sent.
    /// `$2` is the user's digest, `$3` are installations that stay.
    static let deleteOfRegistrant = PreparedSQL(
        """
        DELETE FROM settings_snapshot s USING unnest($3::text[]) AS k (install_id)
        WHERE s.app_id = $1 AND s.install_id = k.install_id AND s.sender = $2
        """)
}

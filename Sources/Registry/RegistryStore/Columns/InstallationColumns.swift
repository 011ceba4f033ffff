import PostgresClient
import PushRegistry

/// An installation as the store read it, with the columns that only the store uses.
package struct StoredInstallation: Sendable {
    package let installation: Installation
    /// Grows with each update of the row. A writer without a lock compares it.
    package let revision: Int64
    /// The cell of the roll-up that counts the installation.
    package let cell: Int64
}

/// The locked installations of a page of ids, in the order of ids: a row for each id, followed by
/// `InstallationColumns`. A row without columns is an installation that was deleted meanwhile. It still counts for the
/// limit: a page with fewer rows is the last one.
struct LockedPage {
    let installations: [StoredInstallation]
    /// The last id; nil if this is the last page.
    let last: String?

    init(_ rows: PostgresResult, limit: Int64) throws {
        installations = try rows.compactMap { row in
            guard try row.decode(2, as: String?.self) != nil else { return nil }
            return try InstallationColumns.decode(row, from: 1)
        }
        last = rows.count < Int(limit) ? nil : try rows.last?.decode(0)
    }
}

/// The columns that the rules see of an installation, and the store's own, as they are read.
package enum InstallationColumns {
    package static let list: PostgresSQL = """
        i.app_id, i.install_id, i.provider, i.token_sha256, CASE WHEN i.provider = 'fcm' THEN i.token END, i.p256dh, \
        i.auth, i.user_id, i.session_id, i.session_expires_at, i.state, i.generation, i.registration_generation, \
        i.epoch, i.probably_replaced_by, \
        i.created_at, i.registered_at, i.last_seen_at, i.state_changed_at, i.snapshot_digest, i.keychain_id, \
        i.vendor_id, i.device_model, i.credential_issued_at, i.topic_choices, i.topics, \
        i.registration_digest = ''::bytea AS is_imported, i.revision, i.cell
        """
    static let count = 29

    package static func decode(_ row: PostgresRow, from first: Int = 0) throws -> StoredInstallation {
        var reader = ColumnReader(row, from: first)
        let key = InstallationKey(app: AppNumber(try reader.next()), installID: try InstallID(reader.next()))
        let (provider, tokenSHA256) = (try reader.nextLabel() as Provider, try reader.next([UInt8]?.self))
        let spelling = try reader.next(String?.self).flatMap { try Token($0, of: provider).spelling }
        var installation = Installation(
            key: key, provider: provider, tokenSHA256: tokenSHA256,
            keys: try reader.nextKeys(), owner: try reader.nextOwner(),
            state: try reader.nextLabel(), generation: try reader.next(), registrationGeneration: try reader.next(),
            epoch: try reader.next(), probablyReplacedBy: try reader.next(String?.self).map { try InstallID($0) },
            createdAt: try reader.next(), registeredAt: try reader.next(),
            lastSeenAt: try reader.next(), stateChangedAt: try reader.next(),
            snapshotDigest: try reader.next(), fingerprint: try decodeFingerprint(&reader))
        installation.spelling = spelling
        installation.credentialIssuedAt = try reader.next()
        installation.topicChoices = try reader.nextChoices()
        installation.topics = try reader.nextChoices()
        installation.isImported = try reader.next()
        return StoredInstallation(installation: installation, revision: try reader.next(), cell: try reader.next())
    }

    private static func decodeFingerprint(_ reader: inout ColumnReader) throws -> DeviceFingerprint? {
        let (keychainID, vendorID) = (try reader.next(String?.self), try reader.next(String?.self))
        let deviceModel = try reader.next(String.self)
        return keychainID.map { DeviceFingerprint(keychainID: $0, vendorID: vendorID, deviceModel: deviceModel) }
    }
}

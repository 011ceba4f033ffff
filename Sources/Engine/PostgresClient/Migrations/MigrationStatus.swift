/// The pending and unknown migrations of a database, computed from its records and the binary's migrations.
public struct MigrationStatus: Sendable {
    /// A row of `schema_migration`.
    public struct Record: Hashable, Sendable {
        /// As `Migration.version`.
        public let version: Int
        /// The name when it was applied; a later change of the name is no error.
        public let name: String
        let checksum: [UInt8]
    }

    /// As recorded in the database, ordered by version.
    public let applied: [Record]
    /// The migrations that `migrate` would apply, in order.
    public let pending: [Migration]
    /// Recorded, and newer than this binary's migrations: a newer binary has migrated the database.
    public let unknown: [Record]

    /// True also if a newer binary has migrated the database (`unknown`).
    public var isUpToDate: Bool { pending.isEmpty }

    /// - Parameters:
    ///   - known: the binary's migrations, each with its checksum.
    ///   - recorded: the database's records, ordered by version.
    init(known: [(migration: Migration, checksum: [UInt8])], recorded: [Record]) throws(MigrationError) {
        let known = known.sorted { $0.migration.version < $1.migration.version }
        let newestKnown = known.last?.migration.version ?? 0
        let checksums = Dictionary(uniqueKeysWithValues: known.map { ($0.migration.version, $0.checksum) })
        for record in recorded where record.version <= newestKnown {
            try Self.check(record, checksums[record.version])
        }
        let recordedVersions = Set(recorded.map(\.version))
        pending = known.map(\.migration).filter { !recordedVersions.contains($0.version) }
        applied = recorded
        unknown = recorded.filter { $0.version > newestKnown }
        if let first = pending.first, let last = recorded.last, first.version < last.version {
            throw .outOfOrder(version: first.version, name: first.name)
        }
    }

    private static func check(_ record: Record, _ checksum: [UInt8]?) throws(MigrationError) {
        guard let checksum else { throw .missing(version: record.version, name: record.name) }
        guard checksum == record.checksum else { throw .changed(version: record.version, name: record.name) }
    }
}

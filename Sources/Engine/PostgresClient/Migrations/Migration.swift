/// One step of the schema, the contents of one file.
public struct Migration: Hashable, Sendable {
    /// The first line of a migration that cannot run in a transaction, such as `CREATE INDEX CONCURRENTLY`. Its
    /// statements run one by one, so they must be repeatable.
    public static let noTransactionMark = "-- push-registry: no-transaction"
    /// A line that separates the statements of such a migration. The migrator does not search SQL for semicolons.
    public static let nextStatementMark = "-- push-registry: next-statement"

    /// Unique, at most `Int32.max`. Migrations are applied in ascending order.
    public let version: Int
    /// For example `create_installation`.
    public let name: String
    /// Recorded by its SHA-256: once it is applied, it must not change.
    public let sql: String

    /// - Parameter sql: any number of statements, run as one transaction unless the first line is `noTransactionMark`.
    public init(version: Int, name: String, sql: String) {
        self.version = version
        self.name = name
        self.sql = sql
    }

    var isTransactional: Bool {
        lines.first?.trimmingSpaces() != Self.noTransactionMark[...]
    }

    /// The scripts to send to the server, one at a time.
    var scripts: [String] {
        guard !isTransactional else { return [sql] }
        return lines.split { $0.trimmingSpaces() == Self.nextStatementMark[...] }.map { $0.joined(separator: "\n") }
    }

    private var lines: [Substring] {
        sql.split(separator: "\n", omittingEmptySubsequences: false)
    }
}

extension Substring {
    fileprivate func trimmingSpaces() -> Substring {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

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

/// Why the schema could not be updated. Nothing of the failed migration persists, unless it runs without a transaction.
public enum MigrationError: Error, Sendable, CustomStringConvertible {
    /// The file's text differs from the text that was applied.
    case changed(version: Int, name: String)
    /// A file with a lower number than the applied ones was never applied: it was added too late, or its record was
    /// removed.
    case outOfOrder(version: Int, name: String)
    /// Recorded in the database with a version that this binary should have, but does not have.
    case missing(version: Int, name: String)
    /// A statement of the migration failed; the error has its text and the server's message.
    case failed(version: Int, name: String, PostgresError)
    /// Another process has held the advisory lock for longer than `advisoryLockTimeout`.
    case locked

    public var description: String {
        switch self {
        case .changed(let version, let name):
            "migration \(version) \(name) was changed after it had been applied: restore it and add a new one"
        case .outOfOrder(let version, let name):
            "migration \(version) \(name) was not applied, but later ones were: give it a number above theirs"
        case .missing(let version, let name):
            "migration \(version) \(name) was applied to this database, but this binary does not have it"
        case .failed(let version, let name, let error):
            "migration \(version) \(name) failed: \(error)"
        case .locked:
            "another process has been migrating this database for too long"
        }
    }
}

extension MigrationError: CustomDebugStringConvertible {
    public var debugDescription: String {
        guard case .failed(_, _, let error) = self else { return description }
        return "\(description)\n\(error.debugDescription)"
    }
}

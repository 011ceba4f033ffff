import Foundation
import Logging

/// Brings a database to the schema of this binary: forward only, in the order of the versions, recorded with a SHA-256
/// checksum in `schema_migration`.
///
/// Processes that start at once take turns by an advisory lock; those that come second find nothing to do.
public struct Migrator: Sendable {
    /// The key of the advisory lock: "pushregi" in ASCII. One per database.
    static let lockKey: Int64 = 0x7075_7368_7265_6769
    /// A migration that has to wait for a lock this long would stop the traffic behind it: it gives up instead.
    static let lockTimeout = "10s"
    /// The wait between two attempts to get the advisory lock.
    static let lockPollSeconds = 0.05

    private let migrations: [Migration]
    private let turnTimeout: Duration
    private let logger: Logger

    /// - Parameter turnTimeout: how long to wait for another process that migrates.
    public init(_ migrations: [Migration], turnTimeout: Duration = .seconds(600), logger: Logger) {
        precondition(Set(migrations.map(\.version)).count == migrations.count, "two migrations have the same version")
        self.migrations = migrations
        self.turnTimeout = turnTimeout
        self.logger = logger
    }

    /// Applies the pending migrations.
    ///
    /// - Returns: what was applied, in order.
    /// - Throws: `MigrationError`; `PostgresError` where the database cannot be reached or asked.
    public func migrate(_ configuration: PostgresConfiguration) async throws -> [Migration] {
        try await PostgresSession.withSession(configuration) { session in
            try withTurn(session) {
                // A role that may create nothing finds that there is nothing to do.
                if try status(session).isUpToDate { return [] }
                try session.run(script: "SET lock_timeout = '\(Self.lockTimeout)'; SET statement_timeout = 0")
                try session.run(script: Self.createRecords)
                let pending = try status(session).pending
                for migration in pending { try apply(migration, session) }
                return pending
            }
        }
    }

    /// The applied, pending and unknown migrations. Changes nothing.
    ///
    /// - Throws: as `migrate`.
    public func status(_ configuration: PostgresConfiguration) async throws -> MigrationStatus {
        try await PostgresSession.withSession(configuration) { try status($0) }
    }
}

// MARK: - Taking turns

extension Migrator {
    /// Retries in place of a wait in the server: a session that waits there holds a snapshot, for which the other
    /// process's `CREATE INDEX CONCURRENTLY` would wait in turn.
    private func withTurn<Value>(_ session: PostgresSession, _ body: () throws -> Value) throws -> Value {
        let deadline = ContinuousClock.now + turnTimeout
        while try !session.execute("SELECT pg_try_advisory_lock(\(Self.lockKey))")[0].decode(0, as: Bool.self) {
            try session.checkCancellation()
            guard ContinuousClock.now < deadline else { throw MigrationError.locked }
            Thread.sleep(forTimeInterval: Self.lockPollSeconds)
        }
        defer { _ = try? session.execute("SELECT pg_advisory_unlock(\(Self.lockKey))") }
        return try body()
    }
}

// MARK: - Records

extension Migrator {
    private static let createRecords = """
        SET client_min_messages = warning;
        CREATE TABLE IF NOT EXISTS schema_migration (
            version int PRIMARY KEY,
            name text NOT NULL,
            checksum bytea NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now())
        """

    private func status(_ session: PostgresSession) throws -> MigrationStatus {
        try MigrationStatus(known: checksums(session), recorded: records(session))
    }

    private func records(_ session: PostgresSession) throws -> [MigrationStatus.Record] {
        let exists = try session.execute("SELECT to_regclass('schema_migration') IS NOT NULL")[0]
        guard try exists.decode(0, as: Bool.self) else { return [] }
        let rows = try session.execute("SELECT version, name, checksum FROM schema_migration ORDER BY version")
        return try rows.map {
            MigrationStatus.Record(version: try $0.decode(0), name: try $0.decode(1), checksum: try $0.decode(2))
        }
    }

    /// PostgreSQL computes them: it has SHA-256, and no library is needed for it here.
    private func checksums(_ session: PostgresSession) throws -> [(migration: Migration, checksum: [UInt8])] {
        let rows = try session.execute(
            """
            SELECT sha256(convert_to(sql, 'UTF8')) FROM unnest(\(migrations.map(\.sql))) WITH ORDINALITY AS m (sql, n)
            ORDER BY n
            """)
        return try zip(migrations, rows).map { ($0, try $1.decode(0)) }
    }
}

// MARK: - Applying

extension Migrator {
    private func apply(_ migration: Migration, _ session: PostgresSession) throws {
        try session.checkCancellation()
        do {
            if migration.isTransactional {
                try session.withTransaction { try run(migration, session) }
            } else {
                try run(migration, session)
            }
        } catch let error as PostgresError {
            throw MigrationError.failed(version: migration.version, name: migration.name, error)
        }
        logger.info("Migration applied", metadata: ["version": "\(migration.version)", "name": "\(migration.name)"])
    }

    private func run(_ migration: Migration, _ session: PostgresSession) throws {
        for script in migration.scripts { try session.run(script: script) }
        _ = try session.execute(
            """
            INSERT INTO schema_migration (version, name, checksum)
            VALUES (\(Int32(migration.version)), \(migration.name), sha256(convert_to(\(migration.sql), 'UTF8')))
            """)
    }
}

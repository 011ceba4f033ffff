import Foundation
import Logging

/// Updates a database to the schema of this binary: forward only, ordered by version, recorded with a SHA-256 checksum
/// in `schema_migration`.
///
/// Processes that start at the same time take turns by an advisory lock; the later ones find nothing to do.
public struct Migrator: Sendable {
    /// The key of the advisory lock: "pushregi" in ASCII. One per database.
    static let lockKey: Int64 = 0x7075_7368_7265_6769
    /// A migration that waits longer for a lock would block the traffic behind it, so it fails instead.
    static let lockTimeout = "10s"
    /// The delay between two attempts to get the advisory lock.
    static let lockPollSeconds = 0.05

    private let migrations: [Migration]
    private let advisoryLockTimeout: Duration
    private let logger: Logger

    /// - Parameter advisoryLockTimeout: how long to wait for another process that migrates.
    public init(_ migrations: [Migration], advisoryLockTimeout: Duration = .seconds(600), logger: Logger) {
        precondition(Set(migrations.map(\.version)).count == migrations.count, "two migrations have the same version")
        self.migrations = migrations
        self.advisoryLockTimeout = advisoryLockTimeout
        self.logger = logger
    }

    /// Applies the pending migrations.
    ///
    /// - Returns: the applied migrations, in order.
    /// - Throws: `MigrationError`; `PostgresError` if the database cannot be reached or queried.
    public func migrate(_ configuration: PostgresConfiguration) async throws -> [Migration] {
        try await PostgresSession.withSession(configuration) { session in
            try withAdvisoryLock(session) {
                // Checked first, so that a role without the right to create tables can find that nothing is pending.
                if try status(session).isUpToDate { return [] }
                try session.run(script: "SET lock_timeout = '\(Self.lockTimeout)'; SET statement_timeout = 0")
                try session.run(script: Self.createTable)
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

// MARK: - The advisory lock

extension Migrator {
    /// Polls instead of waiting in the server: a session that waits there holds a snapshot, and the other process's
    /// `CREATE INDEX CONCURRENTLY` would wait for that snapshot.
    private func withAdvisoryLock<Value>(_ session: PostgresSession, _ body: () throws -> Value) throws -> Value {
        let deadline = ContinuousClock.now + advisoryLockTimeout
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
    private static let createTable = """
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

    /// PostgreSQL computes them: it has SHA-256, so no library is needed here.
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

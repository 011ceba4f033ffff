import EventLoop
public import PostgresClient
public import PushRegistry
import RegistryStore

/// Deletes the rows of apps whose deletion has begun (`AppDirectory.delete`), in batches, and the app last. Every
/// service runs it. One process at a time deletes an app; if it ends, another one goes on.
public struct AppRemoval: Sendable {
    private static let interval = Duration.seconds(1)
    /// The rows of one transaction.
    private static let batchRows: Int64 = 2_000
    private static let attemptsMax = 100
    /// Apps that a service deletes at the same time, each on a connection. A large one, or one with a locked row, does
    /// not delay the others.
    public static let appsMax = 2

    private let configuration: PostgresConfiguration
    private let batch: Int64

    /// - Parameter batch: the rows of one transaction.
    public init(_ configuration: PostgresConfiguration, batch: Int64? = nil) {
        (self.configuration, self.batch) = (configuration, batch ?? Self.batchRows)
    }

    /// Looks for such apps once a second, and deletes them, until it is cancelled. A failure is retried.
    ///
    /// - Parameters:
    ///   - postgres: finds the apps.
    ///   - failed: called with an error.
    public func run(noticing postgres: PostgresClient, failed: @escaping @Sendable (any Error) -> Void) async {
        // The lock of an app makes the others go on to the next one.
        await withDiscardingTaskGroup { group in
            for _ in 0..<Self.appsMax {
                group.addTask { await removeOneByOne(noticing: postgres, failed: failed) }
            }
        }
    }

    private func removeOneByOne(noticing postgres: PostgresClient, failed: @Sendable (any Error) -> Void) async {
        while !Task.isCancelled {
            do {
                for row in try await postgres.execute(AppRemovalStatements.pending()) {
                    _ = try await remove(AppNumber(try row.decode(0)))
                }
            } catch {
                if !Task.isCancelled { failed(error) }
            }
            try? await postgres.loop.sleep(for: Self.interval)
        }
    }

    /// Deletes an app whose deletion has begun.
    ///
    /// - Parameter progress: called after each transaction with the rows deleted so far, on another thread. If it
    ///   throws, the rest is left.
    /// - Returns: whether the app is gone. False: another process is deleting it.
    /// - Throws: `PostgresError`, and what `progress` throws; `cancelled` between two transactions.
    public func remove(
        _ app: AppNumber, progress: @escaping @Sendable (_ rows: Int) throws -> Void = { _ in }
    ) async throws -> Bool {
        try await PostgresSession.withSession(configuration) { session in
            if try Distribution.exists(session) { try session.run(script: AppRemovalStatements.settingsOnCitus) }
            guard try session.execute(AppRemovalStatements.lock(app))[0].decode(0) else { return false }
            guard try !session.execute(AppRemovalStatements.check(app.rawValue)).isEmpty else {
                return true
            }
            // Later transactions find no row of `rollup_state`, so they add nothing. Earlier ones may still do.
            var deleted = try write(AppRemovalStatements.delete("rollup_state", of: app, limit: 1), session)
            try sweep(app, session, &deleted, progress)
            try waitForWriters(session)
            var before: Int
            repeat {
                before = deleted
                try sweep(app, session, &deleted, progress)
            } while deleted > before
            try session.withTransaction(attemptsMax: Self.attemptsMax, orIf: \.isLockTimeout) {
                try session.run(script: AppRemovalStatements.batchSettings)
                for statement in AppRemovalStatements.finish {
                    _ = try session.execute(statement(app.rawValue))
                }
            }
            return true
        }
    }

    private func sweep(
        _ app: AppNumber, _ session: PostgresSession, _ deleted: inout Int, _ progress: (Int) throws -> Void
    ) throws {
        for table in Distribution.tables + ["audit_entry"] {
            let delete = AppRemovalStatements.delete(table, of: app, limit: batch)
            while case let count = try write(delete, session), count > 0 {
                deleted += count
                try progress(deleted)
                try session.checkCancellation()
            }
        }
    }

    private func write(_ statement: PostgresStatement, _ session: PostgresSession) throws -> Int {
        try session.withTransaction(attemptsMax: Self.attemptsMax, orIf: \.isLockTimeout) {
            try session.run(script: AppRemovalStatements.batchSettings)
            return try session.execute(statement.unprepared()).affectedRows
        }
    }

    /// Every transaction that adds rows of an app has read a row of `rollup_state` (`AppRow`), and keeps the lock of
    /// the table until its end.
    private func waitForWriters(_ session: PostgresSession) throws {
        var writers: [String]? = nil
        repeat {
            if writers != nil { try session.pause(for: .milliseconds(20)) }
            writers = try session.execute(AppRemovalStatements.writers(writers))
                .map { try $0.decode(0) }
        } while writers != []
    }
}

/// The SQL of the deletion of apps: `DELETE /v1/apps/{app}`, and `push-registry apps delete`. `$1` is the app.
enum AppRemovalStatements {
    static let settingsOnCitus = "SET citus.propagate_set_commands = 'local'"

    /// Of each transaction: the rows are found by the key, also by a planner that knows nothing of the table.
    static let batchSettings = "SET LOCAL lock_timeout = '5s'; SET LOCAL enable_seqscan = off; SET LOCAL jit = off"

    /// Service, every second: lists the apps that are being deleted.
    static let pending = PreparedSQL("SELECT id FROM app WHERE deleting_since IS NOT NULL ORDER BY id")

    /// Deletion of an app: checks that it has begun and not ended.
    static let check = PreparedSQL("SELECT FROM app WHERE id = $1 AND deleting_since IS NOT NULL")

    /// Admits one session at a time to an app.
    static func lock(_ app: AppNumber) -> PostgresStatement {
        "SELECT pg_try_advisory_lock(hashtext('push-registry: deletion'), \(app.rawValue))"
    }

    /// Deletes some rows of a table with the column `app_id`. In a table with partitions, a place may name a row of
    /// the app in each of them.
    static func delete(_ table: String, of app: AppNumber, limit: Int64) -> PostgresStatement {
        """
        DELETE FROM \(identifier: table) WHERE app_id = \(app.rawValue) AND ctid = ANY (ARRAY(
            SELECT ctid FROM \(identifier: table) WHERE app_id = \(app.rawValue) LIMIT \(limit)))
        """
    }

    /// Deletion of an app: lists the transactions of other sessions that use `rollup_state`, of those in `$1` if that
    /// is not NULL.
    static let writers = PreparedSQL(
        """
        SELECT DISTINCT virtualtransaction FROM pg_locks
        WHERE locktype = 'relation' AND relation = 'rollup_state'::regclass AND pid <> pg_backend_pid()
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND ($1::text[] IS NULL OR virtualtransaction = ANY ($1))
        """)

    /// The last transaction deletes what is on the coordinator. Nobody adds such rows any more: they refer to the app,
    /// whose row is locked.
    static let finish =
        [PreparedSQL("SELECT FROM app WHERE id = $1 FOR UPDATE")] + AppDeletionStatements.keys
        + [
            "audit_entry", "segment_topic", "segment_use", "segment", "deleted_topic", "topic", "app_signing_key",
            "cleanup_result",
        ]
        .map { PreparedSQL("DELETE FROM \(identifier: $0) WHERE app_id = $1") } + [
            PreparedSQL("DELETE FROM app WHERE id = $1")
        ]
}

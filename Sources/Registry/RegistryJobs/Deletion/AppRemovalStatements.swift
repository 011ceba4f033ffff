import PostgresClient
import PushRegistry
import RegistryStore

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
        PostgresStatement(
            """
            DELETE FROM \(identifier: table) WHERE app_id = \(app.rawValue) AND ctid = ANY (ARRAY(
                SELECT ctid FROM \(identifier: table) WHERE app_id = \(app.rawValue) LIMIT \(limit)))
            """
        ).unprepared()
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

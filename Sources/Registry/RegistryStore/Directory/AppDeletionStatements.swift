import PostgresClient

/// The SQL that begins the deletion of an app, and reports its progress. `$1` is the app's number.
package enum AppDeletionStatements {
    /// DELETE /v1/apps/{app}, apps delete: locks the app; `$1` is its id. No rows that refer to it are added meanwhile.
    static let lock = PreparedSQL("SELECT id, deleting_since FROM app WHERE identifier = $1 FOR UPDATE")

    /// DELETE /v1/apps/{app}, apps delete: begins.
    static let begin = PreparedSQL("UPDATE app SET deleting_since = now() WHERE id = $1 RETURNING deleting_since")

    /// Deletes the keys with their uses, and the sessions of the console that they began.
    package static let keys = [
        PreparedSQL("SELECT FROM api_key WHERE app_id = $1 FOR UPDATE"),
        PreparedSQL("DELETE FROM console_session WHERE key_id IN (SELECT id FROM api_key WHERE app_id = $1)"),
        PreparedSQL("DELETE FROM api_key_use WHERE key_id IN (SELECT id FROM api_key WHERE app_id = $1)"),
        PreparedSQL("DELETE FROM api_key WHERE app_id = $1"),
    ]

    /// GET and DELETE /v1/apps/{app}, apps delete: counts the installations that are left.
    static let left = PreparedSQL("SELECT count(*) FROM installation WHERE app_id = $1")
}

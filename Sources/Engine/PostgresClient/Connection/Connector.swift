import CPostgres
import Foundation

/// Opens connections on threads: the only libpq call that supports `connect_timeout` and a list of hosts is blocking:
/// <https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-PQCONNECTDB>.
enum Connector {
    /// Connects on a new thread, which calls `completion` and ends. Callers must limit how many run at once.
    static func connect(
        _ configuration: PostgresConfiguration,
        completion: @escaping @Sendable (Result<ConnectionHandle, PostgresError>) -> Void
    ) {
        let thread = Thread {
            completion(Result { () throws(PostgresError) in try connectBlocking(configuration) })
        }
        thread.name = "postgres-connect"
        thread.start()
    }

    /// How long the server may take for the settings. A pooler may accept a login and queue the first query for ever.
    private static let settingsTimeout = Duration.seconds(5)

    /// **Blocks** until the session is ready.
    static func connectBlocking(_ configuration: PostgresConfiguration) throws(PostgresError) -> ConnectionHandle {
        let handle = try ConnectionHandle.connect(configuration.connectionString)
        let calls = configuration.settings.map { "set_config(\($0), \($1), false)" as PostgresSQL }
        guard !calls.isEmpty else { return handle }
        let set: PostgresStatement = "SELECT \(sql: calls.joined(separator: ", "))"
        _ = try handle.query(set, within: settingsTimeout)
        return handle
    }
}

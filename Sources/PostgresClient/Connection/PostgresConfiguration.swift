/// Where PostgreSQL is, and how a session there begins.
public struct PostgresConfiguration: Sendable {
    /// Set in every session, where the caller sets nothing else: the server notices within a second that the client of
    /// a running query has gone, which is how this client cancels one.
    ///
    /// The rest is what this client and its callers rely on, whatever the role or the database says: isolation
    /// read committed, literals without backslash escapes, and commits that are durable.
    public static let defaultSettings = [
        "client_connection_check_interval": "1000", "default_transaction_isolation": "read committed",
        "standard_conforming_strings": "on", "synchronous_commit": "on",
    ]

    let connectionString: ConnectionString
    let settings: [String: String]

    /// - Parameters:
    ///   - connectionString: libpq's, as key words or URI, of one host or several (`target_session_attrs`). What it
    ///     leaves open is set: `connect_timeout=5`, TCP keep-alives, `tcp_user_timeout`, the application's name.
    ///   - settings: run-time parameters of the session, as `SET` takes them.
    /// - Throws: `invalidConfiguration` for a string that libpq cannot read.
    public init(
        _ connectionString: String, applicationName: String = "push-registry", settings: [String: String] = [:]
    ) throws(PostgresError) {
        self.connectionString = try ConnectionString(connectionString, applicationName: applicationName)
        self.settings = Self.defaultSettings.merging(settings) { _, set in set }
    }
}

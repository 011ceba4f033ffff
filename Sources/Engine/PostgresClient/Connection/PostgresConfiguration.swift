/// The address of PostgreSQL, and the settings of new sessions.
public struct PostgresConfiguration: Sendable {
    /// Set in every session unless the caller sets other values. By `client_connection_check_interval` the server
    /// notices within a second that the client of a running query is gone: this client cancels a query by closing the
    /// connection.
    ///
    /// This client and its callers rely on the other ones, whatever the role or the database sets: isolation READ
    /// COMMITTED, literals without backslash escapes, durable commits, and times in ISO 8601.
    public static let defaultSettings = [
        "client_connection_check_interval": "1000", "datestyle": "ISO",
        "default_transaction_isolation": "read committed", "standard_conforming_strings": "on",
        "synchronous_commit": "on",
    ]

    let connectionString: ConnectionString
    let settings: [String: String]
    /// `SET LOCAL` statements at the start of each transaction, for a server that passes these on to other servers, and
    /// not the settings of a session.
    let transactionSettings: [PostgresStatement]

    /// - Parameters:
    ///   - connectionString: libpq's, as keywords or URI, with one host or several (`target_session_attrs`). Defaults
    ///     are added for missing parts: `connect_timeout=5`, TCP keep-alives, `tcp_user_timeout`, the application's
    ///     name.
    ///   - settings: run-time parameters of the session, as for `SET`; names in any case.
    ///   - transactionSettings: `SET LOCAL` statements at the start of each transaction.
    /// - Throws: `invalidConfiguration` if libpq cannot parse the string.
    public init(
        _ connectionString: String, applicationName: String = "push-registry", settings: [String: String] = [:],
        transactionSettings: [PostgresStatement] = []
    ) throws(PostgresError) {
        self.connectionString = try ConnectionString(connectionString, applicationName: applicationName)
        self.transactionSettings = transactionSettings
        self.settings = settings.reduce(into: Self.defaultSettings) { $0[$1.key.lowercased()] = $1.value }
    }
}

extension PostgresConfiguration {
    /// The database for messages to people: host, port, database and user of the connection string, never a password.
    public var serverDescription: String {
        let options = ConnectionString.parse(connectionString.text) ?? [:]
        let parts = ["dbname", "host", "hostaddr", "port", "user"].compactMap { name in
            options[name].map { "\(name)=\($0)" }
        }
        return parts.isEmpty ? "PostgreSQL at libpq's defaults" : parts.joined(separator: " ")
    }
}

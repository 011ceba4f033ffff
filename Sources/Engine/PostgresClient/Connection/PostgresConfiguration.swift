import CPostgres

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

/// A libpq connection string, keywords or URI, with this client's defaults for missing parts unless it names a service:
/// <https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-PARAMKEYWORDS>.
///
/// It may contain a password, so it has no description.
struct ConnectionString: Sendable {
    /// In keyword form.
    let text: String

    /// - Throws: `invalidConfiguration`, without libpq's message, which may quote the password.
    init(_ string: String, applicationName: String) throws(PostgresError) {
        guard var options = Self.parse(string) else {
            throw PostgresError(.invalidConfiguration, message: "the connection string cannot be parsed")
        }
        // A string overrides the service that it names (pg_service.conf), so the service's own values must be missing.
        let defaults = options["service"] == nil ? Self.defaults(applicationName) : [:]
        for (key, value) in defaults where options[key] == nil {
            options[key] = value
        }
        // Text is UTF-8 on both sides, whatever the environment sets.
        options["client_encoding"] = "UTF8"
        text = options.sorted { $0.key < $1.key }.map { "\($0)=\(Self.quoted($1))" }.joined(separator: " ")
    }

    /// A dead peer is detected within about 10 seconds, both idle and with data in flight.
    private static func defaults(_ applicationName: String) -> [String: String] {
        [
            "connect_timeout": "5",
            "application_name": applicationName,
            "tcp_user_timeout": "10000",
            "keepalives_idle": "5",
            "keepalives_interval": "2",
            "keepalives_count": "3",
        ]
    }

    /// The parameters that the string sets, by `PQconninfoParse`, without environment variables and defaults.
    static func parse(_ string: String) -> [String: String]? {
        guard let options = PQconninfoParse(string, nil) else { return nil }
        defer { PQconninfoFree(options) }
        var result: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { result[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return result
    }

    private static func quoted(_ value: String) -> String {
        var result = "'"
        for character in value.unicodeScalars {
            if character == "'" || character == "\\" { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(character)
        }
        return result + "'"
    }
}

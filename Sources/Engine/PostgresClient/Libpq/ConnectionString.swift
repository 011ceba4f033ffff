import CPostgres

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

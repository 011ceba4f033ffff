/// The settings for starting a server: the caller's override the defaults, and the address overrides both.
package struct ServerSettings: Sendable {
    /// For a server that keeps data. Other settings have PostgreSQL's own default: `fsync` is on.
    static let lasting: [String: String] = [
        "listen_addresses": "",
        "max_connections": "100",
        "shared_buffers": "128MB",
        "wal_level": "replica",
        "timezone": "UTC",
        "log_timezone": "UTC",
        // One file per weekday, overwritten a week later.
        "logging_collector": "on",
        "log_filename": "postgresql-%a.log",
        "log_truncate_on_rotation": "on",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
        // The details of an error quote the row, and rows contain push tokens.
        "log_error_verbosity": "terse",
        "log_parameter_max_length_on_error": "0",
    ]

    /// For a server that is thrown away. Without `fsync` its data survives its own crash, but not a crash of the
    /// machine.
    package static let throwaway = lasting.merging(
        ["logging_collector": "off", "fsync": "off", "shared_buffers": "32MB"], uniquingKeysWith: { $1 })

    private(set) var values: [String: String]

    init(
        _ settings: [String: String], over defaults: [String: String], folder: ClusterFolder, address: ServerAddress,
        listensOnLoopback: Bool
    ) {
        values = defaults.merging(settings, uniquingKeysWith: { $1 })
        values["log_directory"] = folder.log
        values["port"] = "\(address.port)"
        // The value is a list; double quotes make the path one item.
        values["unix_socket_directories"] = "\"\(address.socketFolder)\""
        if listensOnLoopback { values["listen_addresses"] = "127.0.0.1" }
    }
}

/// The socket and port that a server listens at.
struct ServerAddress: Equatable, Sendable {
    /// PostgreSQL's default port; on a Unix socket it is only a part of the file's name.
    static let defaultPort: UInt16 = 5432

    let socketFolder: String
    let port: UInt16

    /// libpq keywords for the Unix socket ("Connection Strings" in its manual).
    func connectionString(user: String, database: String) -> String {
        "host='\(Self.escaped(socketFolder))' port=\(port) user=\(user) dbname=\(database)"
    }

    /// libpq keywords for the one of this and another server that accepts writes.
    func connectionString(user: String, database: String, withFailoverTo other: ServerAddress) -> String {
        "host='\(Self.escaped(socketFolder)),\(Self.escaped(other.socketFolder))' port=\(port),\(other.port) "
            + "user=\(user) dbname=\(database) target_session_attrs=read-write"
    }

    /// libpq keywords for TCP on the loopback interface.
    func loopbackConnectionString(user: String, database: String) -> String {
        "host=127.0.0.1 port=\(port) user=\(user) dbname=\(database)"
    }

    /// Escapes a value in single quotes: a backslash precedes each quote and backslash.
    private static func escaped(_ value: String) -> String {
        String(value.flatMap { $0 == "'" || $0 == "\\" ? ["\\", $0] : [$0] })
    }
}

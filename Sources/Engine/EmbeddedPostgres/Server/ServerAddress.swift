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

/// Where a server listens.
struct ServerAddress: Equatable, Sendable {
    /// PostgreSQL's usual port: on a Unix socket it is only a part of the file's name.
    static let usualPort: UInt16 = 5432

    let socketFolder: String
    let port: UInt16

    /// Key words for libpq that lead to the Unix socket ("Connection Strings" in its manual).
    func connectionString(user: String, database: String) -> String {
        "host='\(Self.escaped(socketFolder))' port=\(port) user=\(user) dbname=\(database)"
    }

    /// The same for this server and another one, of which the one that takes writes is meant.
    func connectionString(user: String, database: String, orWhereverWritable other: ServerAddress) -> String {
        "host='\(Self.escaped(socketFolder)),\(Self.escaped(other.socketFolder))' port=\(port),\(other.port) "
            + "user=\(user) dbname=\(database) target_session_attrs=read-write"
    }

    /// The same over TCP, on the loopback interface.
    func loopbackConnectionString(user: String, database: String) -> String {
        "host=127.0.0.1 port=\(port) user=\(user) dbname=\(database)"
    }

    /// Within single quotes, a quote and a backslash are written with a backslash before them.
    private static func escaped(_ value: String) -> String {
        String(value.flatMap { $0 == "'" || $0 == "\\" ? ["\\", $0] : [$0] })
    }
}

import EventLoop
import Logging
import PostgresClient

/// The way around the service: SQL on its database, to look at what it has written and to make it what it takes long to
/// become.
public struct Database: Sendable {
    private let client: PostgresClient

    /// Lends sessions on a database, which are opened as they are needed.
    ///
    /// - Parameters:
    ///   - url: libpq's; as the service's role, as a rule.
    ///   - sessionsMin: opened at once, as far as the server lets them in.
    public static func with<Value: Sendable>(
        _ url: String, sessionsMin: Int = 0, sessionsMax: Int = 8, _ body: (Database) async throws -> Value
    ) async throws -> Value {
        let loop = EventLoop(name: "test-sql")
        defer { loop.stop() }
        var logger = Logger(label: "test-sql")
        logger.logLevel = .critical
        let client = PostgresClient(
            try PostgresConfiguration(url, applicationName: "test"), on: loop,
            limits: .init(connectionsMin: sessionsMin, connectionsMax: sessionsMax), logger: logger)
        // It ends with this scope.
        async let _ = client.run()
        return try await body(Database(client: client))
    }

    public func rows(_ statement: PostgresStatement) async throws -> PostgresResult {
        try await client.execute(statement)
    }

    /// The first column of every row.
    public func column<Value: PostgresDecodable>(
        _ statement: PostgresStatement, as type: Value.Type = Value.self
    ) async throws -> [Value] {
        try await rows(statement).map { try $0.decode(0) }
    }

    public func count(_ statement: PostgresStatement) async throws -> Int {
        try await column(statement, as: Int64.self).first.map { Int($0) } ?? -1
    }

    /// Lends a transaction, to stand in somebody's way.
    public func withTransaction<Value>(_ body: (PostgresTransaction) async throws -> Value) async throws -> Value {
        try await client.withTransaction { try await body($0) }
    }
}

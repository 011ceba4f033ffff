import EventLoop

extension PostgresConnection {
    /// Connects, lends the connection and closes it, however `body` ends. For a single connection without a pool.
    ///
    /// Connecting runs on a thread; it cannot be cancelled and takes at most `connect_timeout` per host.
    public nonisolated static func withConnection<Value>(
        _ configuration: PostgresConfiguration, on loop: EventLoop,
        _ body: (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        let connection = try await connect(configuration, on: loop)
        do {
            let value = try await body(connection)
            await connection.close()
            return value
        } catch {
            await connection.close()
            throw error
        }
    }

    private static func connect(
        _ configuration: PostgresConfiguration, on loop: EventLoop
    ) async throws(PostgresError) -> PostgresConnection {
        let outcome = await withCheckedContinuation { continuation in
            Connector.connect(configuration) { continuation.resume(returning: $0) }
        }
        let connection = PostgresConnection(try outcome.get(), on: loop)
        try await connection.start { _ in }
        return connection
    }

    /// Sends one statement as a unit.
    public func execute(
        _ statement: PostgresStatement, timeout: Duration = .seconds(10)
    ) async throws(PostgresError) -> PostgresResult {
        try await execute([statement], timeout: timeout)[0]
    }
}

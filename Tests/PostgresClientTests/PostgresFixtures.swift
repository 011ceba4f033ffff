import EmbeddedPostgres
import EventLoop
import Logging
import PostgresClient
import RegistryTestSupport
import Testing

/// Runs `body` on a new loop, which ends with it.
func withLoop<Value: Sendable>(_ body: @Sendable (EventLoop) async throws -> Value) async throws -> Value {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    return try await withTaskExecutorPreference(loop) { try await body(loop) }
}

/// Lends one connection to a new server, on a new loop.
func withConnection(
    settings: [String: String] = [:], _ body: @escaping @Sendable (PostgresConnection) async throws -> Void
) async throws {
    try await ThrowawayCluster.withDatabase { server in
        let configuration = try PostgresConfiguration(server.connectionString, settings: settings)
        try await withClient(configuration, limits: .single) { try await $0.withConnection(body) }
    }
}

extension PostgresPoolLimits {
    /// A pool of one connection, which may take its time to open.
    static var single: PostgresPoolLimits {
        var limits = PostgresPoolLimits(connectionsMin: 1, connectionsMax: 1)
        limits.waitTimeout = .seconds(60)
        return limits
    }
}

/// Runs a pool while `body` runs.
func withClient(
    _ configuration: PostgresConfiguration, limits: PostgresPoolLimits = PostgresPoolLimits(),
    _ body: @escaping @Sendable (PostgresClient) async throws -> Void
) async throws {
    try await withLoop { loop in
        let client = PostgresClient(configuration, on: loop, limits: limits, logger: Logger(label: "test"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: loop) { await client.run() }
            try await body(client)
            group.cancelAll()
            try await group.waitForAll()
        }
    }
}

/// The error that `body` throws.
func postgresError(_ body: () async throws -> Void) async throws -> PostgresError {
    do {
        try await body()
    } catch let error as PostgresError {
        return error
    }
    throw NoError()
}

struct NoError: Error {}

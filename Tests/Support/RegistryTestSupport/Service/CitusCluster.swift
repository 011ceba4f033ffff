import EmbeddedPostgres
import Foundation
import Logging
import PostgresClient

/// A throw-away Citus cluster: a coordinator and two workers. It needs the extension Citus in the PostgreSQL that is
/// installed.
public enum CitusCluster {
    /// Whether the environment requires tests on such a cluster (`PUSH_REGISTRY_TEST_CITUS`).
    public static var isWanted: Bool { ProcessInfo.processInfo.environment["PUSH_REGISTRY_TEST_CITUS"] != nil }

    private static let settings = [
        "shared_preload_libraries": "citus", "wal_level": "logical", "max_prepared_transactions": "100",
        "max_connections": "200", "max_worker_processes": "24", "citus.node_conninfo": "sslmode=disable",
    ]

    /// Lends a cluster whose nodes know each other. The registry's tables are not distributed yet.
    ///
    /// - Parameters:
    ///   - own: settings of PostgreSQL; the settings that a cluster needs override them.
    ///   - body: receives the coordinator and the workers.
    public static func with<Value: Sendable>(
        settings own: [String: String] = [:], logger: Logger,
        _ body: (_ coordinator: EmbeddedPostgres, _ workers: [EmbeddedPostgres]) async throws -> Value
    ) async throws -> Value {
        try await ThrowawayCluster.withServers(3, settings: own.merging(settings) { $1 }, logger: logger) { servers in
            for server in servers {
                try await TestDatabase.with(server.superuserConnectionString, sessionsMax: 1) { database in
                    _ = try await database.rows("CREATE EXTENSION citus")
                    // A node connects to itself, too.
                    let host = server.node.host
                    _ = try await database.rows("ALTER SYSTEM SET citus.local_hostname = \(literal: host)")
                    _ = try await database.rows("SELECT pg_reload_conf()")
                }
            }
            let coordinator = servers[0]
            try await TestDatabase.with(coordinator.superuserConnectionString, sessionsMax: 1) { database in
                let node = coordinator.node
                _ = try await database.rows("SELECT citus_set_coordinator_host(\(node.host), \(Int32(node.port)))")
                for worker in servers.dropFirst() {
                    _ = try await database.rows(
                        "SELECT citus_add_node(\(worker.node.host), \(Int32(worker.node.port)))")
                }
            }
            return try await body(coordinator, Array(servers.dropFirst()))
        }
    }
}

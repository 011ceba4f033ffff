import EmbeddedPostgres
import Logging
import PostgresClient

/// A running registry: its own PostgreSQL server, the real service, and a client.
public struct Registry: Sendable {
    public let cluster: EmbeddedPostgres
    public let service: RunningService
    public let database: TestDatabase

    public init(cluster: EmbeddedPostgres, service: RunningService, database: TestDatabase) {
        self.cluster = cluster
        self.service = service
        self.database = database
    }

    public var client: HTTPClient { service.client }

    /// Sends a request, by default with the admin key.
    public func send(
        _ method: String, _ path: String, _ body: JSON? = nil, key: String? = RunningService.adminKey,
        fields: [(String, String)] = []
    ) async throws -> HTTPResponse {
        try await client.response(to: .make(method, path, body, key: key, fields: fields))
    }
}

/// Lends a temporary registry.
///
/// - Parameters:
///   - postgres: settings of PostgreSQL that override those of throw-away clusters.
///   - environment: variables of the service that override those of all tests.
///   - descriptorsMax: the hard limit of the service's open files.
///   - prepare: runs as superuser, on an empty database, before the service starts.
public func withRegistry<Value: Sendable>(
    eventLoops: Int = 2, postgres: [String: String] = [:], environment: [String: String] = [:],
    descriptorsMax: Int? = nil, prepare: ((TestDatabase) async throws -> Void)? = nil,
    _ body: (Registry) async throws -> Value
) async throws -> Value {
    try await withServer(isWarm: postgres.isEmpty && prepare == nil, postgres) { cluster in
        if let prepare { try await TestDatabase.with(cluster.superuserConnectionString, sessionsMax: 1, prepare) }
        return try await RunningService.with(
            databaseURL: cluster.connectionString, eventLoops: eventLoops, environment: environment,
            descriptorsMax: descriptorsMax
        ) { service in
            try await TestDatabase.with(cluster.connectionString) { database in
                try await body(Registry(cluster: cluster, service: service, database: database))
            }
        }
    }
}

/// Lends a server that stays up, with a migrated database, or a new one with an empty database.
private func withServer<Value: Sendable>(
    isWarm: Bool, _ settings: [String: String], _ body: (EmbeddedPostgres) async throws -> Value
) async throws -> Value {
    if isWarm { return try await ThrowawayCluster.withDatabase(from: .migrated, logger: .ofClusters, body) }
    return try await ThrowawayCluster.with(settings: settings, logger: .ofClusters, body)
}

/// Lends a running registry that is distributed over the nodes of a Citus cluster.
public func withDistributedRegistry<Value: Sendable>(
    eventLoops: Int = 2, shards: Int = 4,
    _ body: (_ registry: Registry, _ workers: [EmbeddedPostgres]) async throws -> Value
) async throws -> Value {
    try await CitusCluster.with(logger: .ofClusters) { coordinator, workers in
        let url = coordinator.connectionString
        for command in [["migrate"], ["distribute", "--shards", "\(shards)"]] {
            let result = try await RegistryCommand.run(command + ["--database-url", url])
            guard result.status == 0 else { throw ServiceEnded(log: result.log) }
        }
        return try await RunningService.with(databaseURL: url, eventLoops: eventLoops) { service in
            try await TestDatabase.with(url) { database in
                try await body(Registry(cluster: coordinator, service: service, database: database), workers)
            }
        }
    }
}

/// Lends a registry with two servers. The service writes to the one that accepts writes: at first the primary, whose
/// commits wait for the standby.
///
/// - Parameter environment: variables of the service that override those of all tests.
public func withReplicatedRegistry<Value: Sendable>(
    environment: (_ standby: EmbeddedPostgres) -> [String: String] = { _ in [:] },
    _ body: (_ registry: Registry, _ standby: EmbeddedPostgres) async throws -> Value
) async throws -> Value {
    try await ThrowawayCluster.withStandby(logger: .ofClusters) { primary, standby in
        try await TestDatabase.with(primary.superuserConnectionString) { database in
            _ = try await database.rows("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
            _ = try await database.rows("SELECT pg_reload_conf()")
            try await eventually("commits wait for the standby") {
                try await database.count("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1
            }
        }
        let url = primary.connectionString(withFailoverTo: standby)
        return try await RunningService.with(databaseURL: url, environment: environment(standby)) { service in
            try await TestDatabase.with(url) { database in
                try await body(Registry(cluster: primary, service: service, database: database), standby)
            }
        }
    }
}

extension Logger {
    fileprivate static var ofClusters: Logger {
        var logger = Logger(label: "cluster")
        logger.logLevel = .critical
        return logger
    }
}

extension HTTPRequest {
    /// A request with a JSON body and a key.
    public static func make(
        _ method: String, _ path: String, _ body: JSON? = nil, key: String?, fields: [(String, String)] = []
    ) -> HTTPRequest {
        var all: [(String, String)] = []
        if let key { all.append(("Authorization", "Bearer \(key)")) }
        if body != nil { all.append(("Content-Type", "application/json")) }
        return HTTPRequest(method, path, fields: all + fields, body: body.map { Array($0.text.utf8) })
    }
}

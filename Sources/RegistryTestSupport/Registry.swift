import EmbeddedPostgres
import Logging
import PostgresClient

/// A running registry: a PostgreSQL server of its own, the service as it ships over it, and a client.
public struct Registry: Sendable {
    public let cluster: EmbeddedPostgres
    public let service: RegistryService
    public let database: Database

    public var client: HTTPClient { service.client }

    /// Sends a request, with the admin key unless another is named.
    public func send(
        _ method: String, _ path: String, _ body: JSON? = nil, key: String? = RegistryService.adminKey,
        fields: [(String, String)] = []
    ) async throws -> HTTPResponse {
        try await client.response(to: .make(method, path, body, key: key, fields: fields))
    }
}

/// Lends a running registry, of which nothing is left afterwards, however `body` ends.
public func withRegistry<Value: Sendable>(
    eventLoops: Int = 2, _ body: (Registry) async throws -> Value
) async throws -> Value {
    var logger = Logger(label: "cluster")
    logger.logLevel = .critical
    return try await ThrowawayCluster.with(logger: logger) { cluster in
        try await RegistryService.with(databaseURL: cluster.connectionString, eventLoops: eventLoops) { service in
            try await Database.with(cluster.connectionString) { database in
                try await body(Registry(cluster: cluster, service: service, database: database))
            }
        }
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

import EmbeddedPostgres
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Without a connection the service reports it, and recovers by itself", .serialized)
struct ConnectionLimitTests {
    private static let connectionsMax = 24

    @Test func calls_areRefusedClearly_whenPostgreSQLTakesNoMoreConnections() async throws {
        let settings = ["max_connections": "\(Self.connectionsMax)"]
        try await withRegistry(postgres: settings) { registry in
            let app = try await RegistryApp.make(in: registry)
            try await withoutConnections(registry) {
                let refusal = try await app.put("phone", as: "alice")
                #expect(refusal.status == 503 && refusal.code == "database-unavailable")
                #expect(refusal["Retry-After"] != nil)
                let readiness = try await registry.send("GET", "/readyz", key: nil)
                #expect(readiness.status == 503)
                #expect(readiness.json["obstacles"] == ["the database does not respond"])
                #expect(try await registry.send("GET", "/healthz", key: nil).status == 200)
                #expect(registry.service.command.log.contains("tooManyConnections"))
            }
            try await eventually("the service recovers") {
                try await app.put("phone", as: "alice").status < 300
            }
            #expect(try await registry.send("GET", "/readyz", key: nil).status == 200)
        }
    }

    /// Audiences have connections of their own, which are opened when they are needed.
    @Test func service_isReadyButDegraded_whenAudiencesGetNoConnection() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            try await TestDatabase.with(registry.cluster.superuserConnectionString) { superuser in
                _ = try await superuser.rows("ALTER ROLE push_registry CONNECTION LIMIT 1")
                try await eventually("readyz reports it") {
                    let body: JSON = ["filter": ["carrier": "x"]]
                    let count = try await app.send("POST", "/audience/count", body, by: .role(.marketing))
                    let readiness = try await registry.send("GET", "/readyz", key: nil)
                    guard readiness.json["degraded"].array.contains(where: { $0.string?.contains("audiences") == true })
                    else { return false }
                    #expect(count.status == 503 && readiness.status == 200 && readiness.json["status"] == "ready")
                    return true
                }
                _ = try await superuser.rows("ALTER ROLE push_registry CONNECTION LIMIT -1")
                try await eventually("audiences work again") {
                    try await registry.send("GET", "/readyz", key: nil).json["degraded"] == []
                }
            }
        }
    }

    /// Runs `body` while a superuser's sessions occupy every connection, also those of the service.
    private func withoutConnections(_ registry: Registry, _ body: () async throws -> Void) async throws {
        let url = registry.cluster.superuserConnectionString
        try await TestDatabase.with(url, sessionsMin: Self.connectionsMax, sessionsMax: Self.connectionsMax) { greedy in
            _ = try await greedy.rows("ALTER ROLE push_registry CONNECTION LIMIT 0")
            _ = try await greedy.rows(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'push_registry'")
            try await eventually("every connection is taken") {
                try await greedy.count(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE backend_type = 'client backend' AND usename = 'postgres'
                    """
                ) == Self.connectionsMax
            }
            _ = try await greedy.rows("ALTER ROLE push_registry CONNECTION LIMIT -1")
            try await body()
        }
    }
}

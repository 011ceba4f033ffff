import EmbeddedPostgres
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Audience calls can use a standby", .serialized)
struct StandbyReadTests {
    @Test func everyAudienceCall_isAnswered_whenAudiencesAreReadFromAStandby() async throws {
        try await withStandbyForAudiences { registry, _ in
            let app = try await RegistryApp.make(in: registry)
            for number in 0..<3 { _ = try await app.put("phone-\(number)", as: "alice") }
            try await eventually("the standby has what was written") { try await count(app).json["count"] == 3 }
            let everybody: JSON = ["filter": [:]]
            let calls: [(String, JSON)] = [
                ("breakdown", ["filter": [:], "by": ["locale"]]),
                ("breakdown", ["filter": [:], "by": ["deviceModel"]]),
                ("installations", everybody), ("export", ["filter": [:], "format": "ndjson"]),
                ("waves", ["filter": [:], "localTime": "10:00", "date": "2026-06-01"]),
                ("count", ["filter": ["localTime": ["between": ["00:00", "24:00"]]]]),
            ]
            for (call, body) in calls {
                let response = try await app.send("POST", "/audience/\(call)", body, by: .role(.sender))
                #expect(response.status == 200, "\(call): \(response.text)")
            }
        }
    }

    @Test func registrations_continue_whenTheStandbyOfAudiencesIsAway() async throws {
        try await withStandbyForAudiences { registry, standby in
            let app = try await RegistryApp.make(in: registry)
            try await TestDatabase.with(registry.cluster.superuserConnectionString) { database in
                _ = try await database.rows("ALTER SYSTEM RESET synchronous_standby_names")
                _ = try await database.rows("SELECT pg_reload_conf()")
            }
            await standby.kill()
            let refusal = try await count(app)
            #expect(refusal.status == 503 && refusal["Retry-After"] != nil)
            #expect(try await app.put("phone", as: "alice").status == 201)
            let readiness = try await registry.send("GET", "/readyz")
            #expect(readiness.status == 200 && readiness.json["obstacles"] == [])
            #expect(readiness.json["degraded"][0].string?.contains("read database") == true, "\(readiness.text)")
            try await standby.restart()
            try await eventually("audience calls succeed again") { try await count(app).json["count"] == 1 }
        }
    }

    private func withStandbyForAudiences(
        _ body: (Registry, EmbeddedPostgres) async throws -> Void
    ) async throws {
        try await withReplicatedRegistry(
            environment: { ["PUSH_REGISTRY_READ_DATABASE_URL": $0.connectionString] }, body)
    }

    private func count(_ app: RegistryApp) async throws -> HTTPResponse {
        try await app.send("POST", "/audience/count", ["filter": [:]], by: .role(.sender))
    }
}

import EmbeddedPostgres
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Acknowledged changes are durable, and failures are reported (R15)", .serialized)
struct DurabilityTests {
    @Test func acknowledgedRegistrations_survive_whenPostgreSQLIsKilled() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            var outage: Duration = .zero
            let ledger = try await Load.run(on: app) { ledger in
                try await eventually("registrations flow") { ledger.acknowledged.count > 500 }
                await registry.cluster.kill()
                try await eventually("clients are refused") { ledger.refusals.count > Load.clients }
                #expect(try await registry.send("GET", "/readyz").status == 503)
                #expect(try await registry.send("GET", "/healthz").status == 200)
                try await registry.cluster.restart()
                outage = try await ledger.timeToHeal()
            }
            #expect(outage < .seconds(2))
            ledger.expectClearRefusals()
            try await app.expectKept(ledger)
            #expect(try await registry.send("GET", "/readyz").status == 200)
        }
    }
}

@Suite("A service survives a damaged database, and says what is wrong", .serialized)
struct MissingRowTests {
    @Test func calls_fail_untilTheMissingRowIsBack() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            let version = try await registry.database.count("DELETE FROM directory_version RETURNING version")
            for _ in 0..<4 {
                for call in [try await app.put("phone", as: "alice"), try await registry.send("GET", "/v1/apps")] {
                    #expect(call.status == 500 && call.code == "internal-error", "\(call.text)")
                }
            }
            let readiness = try await registry.send("GET", "/readyz", key: nil)
            #expect(readiness.status == 503)
            #expect(
                readiness.json["obstacles"]
                    == ["the database cannot be used: the table directory_version has no row"])
            #expect(try await registry.send("GET", "/healthz", key: nil).status == 200)
            _ = try await registry.database.rows("INSERT INTO directory_version (version) VALUES (\(version))")
            #expect(try await app.put("phone", as: "alice").status == 201)
            #expect(try await registry.send("GET", "/readyz", key: nil).status == 200)
        }
    }
}

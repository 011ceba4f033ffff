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

    @Test func service_reconnects_whenItsSessionsAreTerminated() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            for round in 1...5 {
                _ = try await registry.database.rows(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE pid <> pg_backend_pid() AND application_name = 'push-registry'
                    """)
                try await eventually("registrations succeed again") {
                    let status = try await app.put("phone", as: "user-\(round)").status
                    #expect([200, 201, 503].contains(status))
                    return status < 300
                }
            }
            try await app.expectCompleteHistory()
        }
    }

    @Test func lockedRow_delaysNoOtherInstallation() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            _ = try await app.put("locked", as: "alice")
            _ = try await app.put("free", as: "alice")
            // A user's first registration creates the user's row and blocks others of that user, so register before.
            _ = try await app.put("known", as: "bob")
            try await registry.database.withTransaction { transaction in
                _ = try await transaction.execute("SELECT 1 FROM installation WHERE install_id = 'locked' FOR UPDATE")
                async let waiting = app.put("locked", as: "bob")
                #expect(try await app.put("locked", as: "alice").json["status"] == "unchanged")
                #expect(try await app.put("free", as: "bob").status == 200)
                try await transaction.commit()
                #expect(try await waiting.json["userId"] == "bob")
            }
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

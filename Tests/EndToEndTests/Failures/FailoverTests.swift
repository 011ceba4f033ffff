import EmbeddedPostgres
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Writes follow a failover", .serialized)
struct FailoverTests {
    /// Both servers are in the connection string (`target_session_attrs=read-write`), and commits wait for the standby.
    @Test func acknowledgedRegistrations_survive_whenAStandbyIsPromoted() async throws {
        try await withReplicatedRegistry { registry, standby in
            let app = try await RegistryApp.make(in: registry)
            var outage = Duration.zero
            let ledger = try await Load.run(on: app) { ledger in
                try await eventually("registrations flow") { ledger.acknowledged.count > 500 }
                await registry.cluster.kill()
                try await eventually("clients are refused") { ledger.refusals.count > Load.clients }
                #expect(try await registry.send("GET", "/readyz").status == 503)
                try await promote(standby)
                outage = try await ledger.timeToHeal()
            }
            #expect(outage < .seconds(5))
            ledger.expectClearRefusals()
            try await app.expectKept(ledger)
            try await app.expectCompleteHistory()
            #expect(try await registry.send("GET", "/readyz").status == 200)
        }
    }

    private func promote(_ standby: EmbeddedPostgres) async throws {
        try await TestDatabase.with(standby.superuserConnectionString) { database in
            let isPromoted = try await database.column("SELECT pg_promote()", as: Bool.self)
            #expect(isPromoted == [true])
        }
    }
}

import PostgresClient
import RegistryTestSupport
import Testing

@Suite("A slow database delays calls only up to a limit")
struct SlowQueryTests {
    @Test func changes_areRefusedInTime_whenWritesHang() async throws {
        try await withRegistry(environment: ["PUSH_REGISTRY_HANDLER_DEADLINE": "1s"]) { registry in
            let app = try await RegistryApp.make(in: registry)
            _ = try await app.put("known", as: "alice")
            let refusals = try await registry.database.withTransaction { transaction in
                // This lock does not block reads.
                _ = try await transaction.execute("LOCK TABLE installation IN EXCLUSIVE MODE")
                let start = ContinuousClock.now
                let refusals = try await race(64) { try await app.put("phone-\($0)", as: "alice") }
                #expect(ContinuousClock.now - start < .seconds(10))
                #expect(try await app.put("known", as: "alice").json["status"] == "unchanged")
                // Two loops, each with two batches, and two registrations that were set aside.
                #expect(try await registry.waitingSessions() <= 8)
                try await transaction.commit()
                return refusals
            }
            #expect(
                refusals.allSatisfy { $0.status == 503 && $0.code == "handler-timeout" && $0["Retry-After"] != nil })
            try await eventually("changes succeed again") {
                try await app.put("known", as: "bob").status == 200
            }
        }
    }
}

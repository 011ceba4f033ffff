import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("DELETE is idempotent, and only for the caller's installations (fine print 18)")
    struct DeletionTests {
        @Test func delete_removesInstallationAndSnapshots_forAService() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let response = try await app.delete("phone")
            #expect(response.status == 204)
            #expect(response.body.isEmpty)
            #expect(try await app.get("phone").status == 404)
            #expect(try await app.send("GET", "/installations/phone/snapshots").status == 404)
            #expect(try await app.holders(of: SampleRegistration.token("phone")) == [])
        }

        @Test func delete_isRepeatable_andAnUnknownOneIs204() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone")
            for _ in 1...3 { #expect(try await app.delete("phone").status == 204) }
            #expect(try await app.delete("never", by: .role(.client)).status == 204)
            #expect(try await app.events(of: "never").isEmpty)
            #expect(try await app.events(of: "phone").map(\.event) == ["registered", "deleted"])
        }

        @Test func ifMatch_isHonoured() async throws {
            let app = try await RegistryApp.make()
            let old = try await app.put("phone", as: "alice")["ETag"] ?? ""
            let present = try await app.put("phone", as: "bob")
            let refused = try await app.delete("phone", ifMatch: old)
            #expect(refused.status == 412)
            #expect(refused.generation == present.generation)
            #expect(refused["ETag"] == present["ETag"])
            #expect(try await app.delete("phone", ifMatch: present["ETag"]).status == 204)
            let unknown = try await app.delete("phone", ifMatch: "*")
            #expect(unknown.status == 412)
            #expect(unknown.generation == 0)
        }

        @Test func delete_happensOnce_when32Race() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let statuses = try await race(32) { _ in try await app.delete("phone").status }
            #expect(Set(statuses) == [204])
            #expect(try await app.events(of: "phone").count { $0.event == "deleted" } == 1)
        }
    }
}

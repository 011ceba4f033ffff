import Basics
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A record is visible to its own client and to services, its token only to services")
    struct RecordTests {
        @Test func record_isShownWithoutToken_whenTheClientReadsAnAnonymousOne() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", by: .role(.client))
            let record = try await app.get("phone", by: .role(.client))
            #expect(record.status == 200)
            #expect(record.json["state"] == "active")
            #expect(Set(record.json.object.keys).isDisjoint(with: ["token", "keys", "probablyReplacedBy"]))
            #expect(!record.text.contains(SampleRegistration.token("phone")))
        }

        @Test func unreachable_isExplained_byAllReasons() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice", session: "s1")
            #expect(try await app.get("phone").json["unreachableBecause"] == [])
            let settings = SampleRegistration.settings(authorizationStatus: "denied")
            let body = SampleRegistration.make("phone", settings: settings)
            _ = try await app.put("phone", body, as: "alice", session: "s1")
            try await app.update("phone", "session_expires_at = now(), state = 'suspect'")
            for role in [RegistryApp.Role.service, .support, .admin] {
                let reasons = try await app.get("phone", by: .role(role)).json["unreachableBecause"]
                #expect(reasons == ["state-suspect", "session-expired", "authorization-denied"], "\(role)")
            }
            let list = try await app.send("GET", "/users/alice/installations", by: .role(.sender)).json["installations"]
            #expect(list[0]["reachable"] == false && list[0].object["unreachableBecause"] == nil)
        }

        @Test func installIDs_areComparedExactly_whenTheyLookAlike() async throws {
            let app = try await RegistryApp.make()
            let names = ["phone", "Phone", "phone.", "a/b", "%2F", "~!$&'()*+,;=:@"]
            for name in names {
                let path = name.utf8.map { "%" + String(hex: $0) }.joined()
                var request = app.registration("x", SampleRegistration.make(name))
                request.path = "\(app.path)/installations/\(path)"
                #expect(try await app.registry.client.response(to: request).status == 201, "\(name)")
            }
            let stored = try await app.database.column(
                "SELECT install_id FROM installation JOIN app ON app.id = app_id WHERE identifier = \(app.id)",
                as: String.self)
            #expect(Set(stored) == Set(names))
        }
    }
}

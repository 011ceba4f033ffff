import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Support reads installations, users and histories without tokens, and changes nothing")
    struct SupportRoleTests {
        private let support = RegistryApp.Credential.role(.support)

        @Test func support_readsAllUsers_withoutTokensAndKeys() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let token = SampleRegistration.token("phone")
            let query: JSON = ["token": .string(token), "provider": "apns"]
            let responses = [
                try await app.get("phone", by: support),
                try await app.send("GET", "/users/alice/installations", by: support),
                try await app.send("GET", "/installations/phone/snapshots", by: support),
                try await app.send("GET", "/installations/phone/history", by: support),
                try await app.send("POST", "/tokens/history", query, by: support),
            ]
            for response in responses {
                #expect(response.status == 200 && !response.text.contains(token), "\(response.text)")
            }
            let record = responses[0].json
            #expect(record["userId"] == "alice" && record["unreachableBecause"] == [])
            #expect(Set(record.object.keys).isDisjoint(with: ["token", "keys", "probablyReplacedBy"]))
            #expect(responses[4].json["events"].array.count == 1)
        }

        @Test func support_actsForNoUser() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let named = try await app.send("GET", "/installations/phone", by: support, fields: [("X-User-Id", "alice")])
            #expect(named.status == 403)
        }
    }
}

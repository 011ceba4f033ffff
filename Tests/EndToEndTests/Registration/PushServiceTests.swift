import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A sender calls the push services of the app's policy, and no other hosts")
    struct PushServiceTests {
        /// The user agent's keys of RFC 8291, section 5.
        private static let keys: JSON = [
            "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "auth": "BTBZMqHH6r4Tts7J_aSIgg",
        ]
        private static let unifiedPush = "https://ntfy.sh/upDF3mYRkQNfKb?up=1"

        private func body(_ endpoint: String, _ installID: String = "phone") -> JSON {
            var body = SampleRegistration.make(installID, token: endpoint, provider: "webPush")
            body["keys"] = Self.keys
            return body
        }

        private func patch(_ app: RegistryApp, _ hosts: JSON) async throws -> HTTPResponse {
            try await app.send("PATCH", "", ["webPushHosts": hosts], by: .role(.admin))
        }

        @Test func endpoint_ofAUnifiedPushDistributor_isRegistered_onceItsHostIsAllowed() async throws {
            let app = try await RegistryApp.make()
            let refused = try await app.put("phone", body(Self.unifiedPush))
            #expect(refused.status == 400 && refused.code == "push-service-not-allowed", "\(refused.text)")
            #expect(refused.faults == ["/token push-service-not-allowed"] && !refused.text.contains("ntfy"))
            #expect(try await app.get("phone").status == 404)

            let hosts: JSON = ["NTFY.sh", "fcm.googleapis.com"]
            #expect(try await patch(app, hosts).json["webPushHosts"] == ["ntfy.sh", "fcm.googleapis.com"])
            #expect(try await app.put("phone", body(Self.unifiedPush)).status == 201)
            let record = try await app.get("phone").json
            #expect(record["token"].string == Self.unifiedPush && record["keys"] == Self.keys)
            #expect(try await app.export(["filter": [:]]).first?["keys"] == Self.keys)
            let page = try await app.ask("installations", ["filter": [:]]).json["installations"]
            #expect(page[0]["keys"] == Self.keys)
            var changed = body(Self.unifiedPush)
            changed["keys"]["auth"] = .string(String(repeating: "Q", count: 22))
            #expect(try await app.put("phone", changed).json["status"] == "updated")
            let named = try await app.put("phone", body("https://user@fcm.googleapis.com/x"))
            #expect(named.status == 400 && named.code == "push-service-not-allowed", "\(named.text)")
        }

        @Test func page_allowsADistributor_inThePolicyThatItShows() async throws {
            let text = try documentationPage("UnifiedPush")
            let policy = try #require(text.firstMatch(of: #/policy set com\.example\.mail '([^']*)'/#)).1
            let app = try await RegistryApp.make(policy: JSON(parsing: policy.utf8))
            #expect(try await app.put("phone", body(Self.unifiedPush)).status == 201)
        }

        /// The body is the one that the registry has read already.
        @Test func registration_isRefused_onceItsHostHasLeftTheList() async throws {
            let app = try await RegistryApp.make(policy: ["webPushHosts": ["ntfy.sh"]])
            _ = try await app.put("phone", body(Self.unifiedPush))
            _ = try await app.put("other")
            #expect(try await app.put("phone", body(Self.unifiedPush)).json["status"] == "unchanged")
            #expect(try await patch(app, .null).status == 200)
            let refused = try await app.put("phone", body(Self.unifiedPush))
            #expect(refused.status == 400 && refused.code == "push-service-not-allowed")
            #expect(try await app.put("other").json["status"] == "unchanged")
            // Whom the list forbids is still known, until it is unregistered.
            #expect(try await app.get("phone").json["state"] == "active")
            #expect(try await app.count([:]) == 2)
            #expect(try await app.export(["filter": [:]]).map { $0["installId"] } == ["other", "phone"])
            let feedback: JSON = [["token": .string(Self.unifiedPush), "provider": "webPush", "reason": "410"]]
            let counts = try await app.send("POST", "/feedback", feedback, by: .role(.service)).json
            #expect(counts["suspect"] == 1, "\(counts)")
            #expect(try await patch(app, ["ntfy.sh"]).status == 200)
            #expect(try await app.put("phone", body(Self.unifiedPush)).json["status"] == "updated")
        }

        @Test func otherFaults_areListedBesideThatOfTheEndpoint() async throws {
            let app = try await RegistryApp.make(policy: ["webPushHosts": []])
            var body = body("https://fcm.googleapis.com/x")
            body["keys"] = ["auth": "BTBZMqHH6r4Tts7J_aSIgg"]
            let response = try await app.put("phone", body)
            #expect(response.status == 400 && response.code == "push-service-not-allowed")
            #expect(response.faults == ["/token push-service-not-allowed", "/keys/p256dh required"])
        }

        @Test func policy_isRefused_whoseEntryIsNoHost() async throws {
            let app = try await RegistryApp.make()
            let response = try await patch(app, ["ntfy.sh", "https://ntfy.sh", "*.localhost", 7])
            #expect(response.status == 400 && response.code == "invalid-body")
            #expect(
                response.faults == [
                    "/webPushHosts/3 wrong-type", "/webPushHosts/1 invalid-host", "/webPushHosts/2 invalid-host",
                ])
        }
    }
}

import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A registration with the same canonical values is unchanged")
    struct CanonicalEqualityTests {
        @Test func put_isUnchanged_whenCanonicalValuesAreTheSame() async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("phone", as: "alice")
            var body = SampleRegistration.make("phone").without("provider")
            body["token"] = .string(body["token"].string?.uppercased() ?? "")
            body["keys"] = ["p256dh": "x", "auth": "y"]
            body["settings"]["announcementSetting"] = "holographic"
            body["device"]["locale"] = "de-DE"
            body["device"]["batteryLevel"] = 0.5
            body["device"]["timeZoneOffset"] = 3600.0
            let second = try await app.put("phone", body, as: "alice")
            #expect(second.json["status"] == "unchanged", "\(second.text)")
            #expect(second.generation == first.generation)
        }

        @Test func put_isUnchanged_whenMembersComeInAnotherOrder() async throws {
            let app = try await RegistryApp.make()
            let body = SampleRegistration.make("phone")
            _ = try await app.put("phone", body)
            let members = body.object.sorted { $0.key > $1.key }.map { "\"\($0.key)\" : \($0.value.text)" }
            var request = app.registration("phone")
            request.body = Array("\n{ \(members.joined(separator: " ,\t")) }\r\n".utf8)
            let response = try await app.registry.client.response(to: request)
            #expect(response.json["status"] == "unchanged")
        }

        /// The same bytes have another meaning then.
        @Test func sameBody_isReadAgain_onceThePolicyReadsMoreOfIt() async throws {
            let app = try await RegistryApp.make()
            var body = SampleRegistration.make("phone")
            body["device"]["advertisingId"] = "ad-1"
            _ = try await app.put("phone", body)
            #expect(try await app.put("phone", body).json["status"] == "unchanged")
            let patch: JSON = ["storeAdvertisingId": true]
            #expect(try await app.send("PATCH", "", patch, by: .role(.admin)).status == 200)
            #expect(try await app.put("phone", body).json["status"] == "updated")
            #expect(try await app.get("phone").json["device"]["advertisingId"] == "ad-1")
            #expect(try await app.put("phone", body).json["status"] == "unchanged")
        }
    }
}

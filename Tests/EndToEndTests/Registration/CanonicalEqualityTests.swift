import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A registration with the same canonical values is unchanged")
    struct CanonicalEqualityTests {
        /// Another notation of the same value, with a name for the test log.
        struct Variant: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let change: @Sendable (inout JSON) -> Void

            init(_ name: String, _ change: @escaping @Sendable (inout JSON) -> Void) {
                testDescription = name
                self.change = change
            }
        }

        private static let variants = [
            Variant("upper-case hexadecimal") { $0["token"] = .string($0["token"].string?.uppercased() ?? "") },
            Variant("no provider") { $0 = $0.without("provider") },
            Variant("de-DE") { $0["device"]["locale"] = "de-DE" },
            Variant("a locale with key words") { $0["device"]["locale"] = "de_DE@calendar=gregorian" },
            Variant("an advertising id") { $0["device"]["advertisingId"] = "00000000-1111" },
            Variant("a location to five decimals") {
                $0["device"]["location"] = ["latitude": 52.52004, "longitude": 13.39996]
            },
            Variant("an unknown member") { $0["device"]["batteryLevel"] = 0.5 },
            Variant("null for what is absent") { $0["device"]["advertisingId"] = .null },
            Variant("an unknown enum value for unknown") { $0["settings"]["announcementSetting"] = "holographic" },
            Variant("an offset with a point") { $0["device"]["timeZoneOffset"] = 3600.0 },
            Variant("keys that are ignored") { $0["keys"] = ["p256dh": "x", "auth": "y"] },
        ]

        @Test(arguments: variants)
        func put_isUnchanged_whenCanonicalValuesAreTheSame(variant: Variant) async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("phone", as: "alice")
            var body = SampleRegistration.make("phone")
            variant.change(&body)
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

        @Test func put_resolvesLinksOfTimeZones_whenNameIsABackwardLink() async throws {
            let app = try await RegistryApp.make()
            var body = SampleRegistration.make("phone")
            body["device"]["timeZoneId"] = "Asia/Kolkata"
            _ = try await app.put("phone", body)
            body["device"]["timeZoneId"] = "Asia/Calcutta"
            #expect(try await app.put("phone", body).json["status"] == "unchanged")
            #expect(try await app.get("phone").json["device"]["timeZoneId"] == "Asia/Kolkata")
        }

        @Test func put_keepsUnknownTimeZoneAsSent_whenTzdataDoesNotKnowIt() async throws {
            let app = try await RegistryApp.make()
            var body = SampleRegistration.make("phone")
            body["device"]["timeZoneId"] = "Mars/Olympus"
            #expect(try await app.put("phone", body).status == 201)
            #expect(try await app.get("phone").json["device"]["timeZoneId"] == "Mars/Olympus")
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

        @Test func advertisingID_isKept_whenPolicyStoresIt() async throws {
            let app = try await RegistryApp.make(policy: ["storeAdvertisingId": true])
            var body = SampleRegistration.make("phone")
            body["device"]["advertisingId"] = "ad-1"
            _ = try await app.put("phone", body)
            #expect(try await app.get("phone").json["device"]["advertisingId"] == "ad-1")
            body["device"]["advertisingId"] = "ad-2"
            #expect(try await app.put("phone", body).json["status"] == "updated")
        }

        @Test func location_isRoundedToTwoDecimals_beforeItIsStored() async throws {
            let app = try await RegistryApp.make()
            var body = SampleRegistration.make("phone")
            body["device"]["location"] = ["latitude": -33.868812, "longitude": 151.209296]
            _ = try await app.put("phone", body)
            #expect(
                try await app.get("phone").json["device"]["location"] == ["latitude": -33.87, "longitude": 151.21])
        }
    }
}

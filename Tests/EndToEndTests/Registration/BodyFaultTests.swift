import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("An invalid registration is a 400 that lists every fault with its pointer")
    struct BodyFaultTests {
        /// A fault of a body, and how it is reported.
        struct Fault: Sendable, CustomTestStringConvertible {
            let expected: String
            let change: @Sendable (inout JSON) -> Void
            var testDescription: String { expected }

            init(_ expected: String, _ change: @escaping @Sendable (inout JSON) -> Void) {
                self.expected = expected
                self.change = change
            }

            /// A member of the device with another value.
            static func device(_ name: String, _ value: JSON, _ code: String) -> Fault {
                Fault("/device/\(name) \(code)") { $0["device"][name] = value }
            }

            static func missing(_ name: String) -> Fault {
                Fault("/device/\(name) required") { $0["device"] = $0["device"].without(name) }
            }
        }

        private static let long = JSON.string(String(repeating: "x", count: 257))

        private static let faults: [Fault] = [
            Fault("/token required") { $0 = $0.without("token") },
            Fault("/token required") { $0["token"] = .null },
            Fault("/token wrong-type") { $0["token"] = 5 },
            Fault("/token invalid-token") { $0["token"] = "not hexadecimal at all" },
            Fault("/token invalid-token") { $0["token"] = "abcdef" },
            Fault("/token too-long") { $0["token"] = .string(String(repeating: "a", count: 401)) },
            Fault("/provider unknown-provider") { $0["provider"] = "pigeon" },
            Fault("/provider wrong-type") { $0["provider"] = [] },
            Fault("/settings wrong-type") { $0["settings"] = "all" },
            Fault("/settings/soundSetting wrong-type") { $0["settings"]["soundSetting"] = true },
            Fault("/settings/providesAppNotificationSettings wrong-type") {
                $0["settings"]["providesAppNotificationSettings"] = "yes"
            },
            Fault("/device required") { $0 = $0.without("device") },
            Fault("/device wrong-type") { $0["device"] = [1] },
            .device("installId", "another", "install-id-mismatch"),
            .device("deviceModel", long, "too-long"),
            .device("carrier", 3, "wrong-type"),
            .device("timeZoneOffset", "3600", "wrong-type"),
            .device("timeZoneOffset", 3600.5, "not-an-integer"),
            .device("timeZoneOffset", 100_000, "out-of-range"),
            .device("languages", "de", "wrong-type"),
            .device("languages", .array((0..<33).map { "l\($0)" }), "too-many"),
            Fault("/device/languages/1 wrong-type") { $0["device"]["languages"] = ["de", 5] },
            Fault("/device/location/latitude out-of-range") {
                $0["device"]["location"] = ["latitude": 90.5, "longitude": 0]
            },
            Fault("/device/location/longitude required") { $0["device"]["location"] = ["latitude": 9] },
            .missing("installId"), .missing("deviceModel"), .missing("systemName"), .missing("systemVersion"),
            .missing("locale"), .missing("timeZoneId"), .missing("timeZoneOffset"),
        ]

        @Test func put_pointsToTheMember_whenItIsInvalid() async throws {
            let app = try await RegistryApp.make()
            for fault in Self.faults {
                var body = SampleRegistration.make("phone")
                fault.change(&body)
                let response = try await app.put("phone", body)
                #expect(response.status == 400, "\(fault.expected)")
                #expect(response.code == "invalid-body", "\(fault.expected)")
                #expect(response.faults == [fault.expected])
            }
            #expect(try await app.get("phone").status == 404)
        }

        @Test func put_listsEveryFault_whenThereAreMany() async throws {
            let app = try await RegistryApp.make()
            let response = try await app.put(
                "phone",
                ["token": 1, "settings": ["badgeSetting": 2], "device": ["installId": "other", "timeZoneOffset": 1.5]])
            #expect(response.status == 400)
            #expect(
                Set(response.faults) == [
                    "/token wrong-type", "/settings/badgeSetting wrong-type", "/device/installId install-id-mismatch",
                    "/device/deviceModel required", "/device/systemName required", "/device/systemVersion required",
                    "/device/locale required", "/device/timeZoneId required", "/device/timeZoneOffset not-an-integer",
                ])
        }

        @Test(arguments: [
            ("", "malformed-json", " malformed-json"), ("{", "malformed-json", " malformed-json"),
            ("[] []", "malformed-json", " malformed-json"), ("{\"token\":}", "malformed-json", " malformed-json"),
            ("7", "invalid-body", " wrong-type"), ("null", "invalid-body", " wrong-type"),
        ])
        func put_isRefused_whenBodyIsNotAnObject(text: String, code: String, fault: String) async throws {
            let app = try await RegistryApp.make()
            let response = try await app.put(raw: Array(text.utf8))
            #expect(response.status == 400)
            #expect(response.code == code)
            #expect(response.faults == [fault])
        }

        @Test func put_isRefused_whenBodyIsNotUTF8() async throws {
            let app = try await RegistryApp.make()
            var body = SampleRegistration.make("phone")
            body["device"]["carrier"] = "~"
            let bytes = Array(body.text.utf8).map { $0 == UInt8(ascii: "~") ? 0xFF : $0 }
            let response = try await app.put(raw: bytes)
            #expect(response.status == 400)
            #expect(response.code == "malformed-json")
        }

        @Test(arguments: [
            ("\"token\":\"0011223344556677\",", "/token duplicate-member"),
            ("\"carrier\":\"\\ud800\",", "/carrier lone-surrogate"),
            ("\"carrier\":\"\\u0000\",", "/carrier nul-character"),
        ])
        func put_isRefused_whenTextIsAmbiguousOrCannotBeStored(member: String, fault: String) async throws {
            let app = try await RegistryApp.make()
            let text = "{" + member + SampleRegistration.make("phone").text.dropFirst()
            let response = try await app.put(raw: Array(text.utf8))
            #expect(response.status == 400)
            #expect(response.faults == [fault])
        }

        @Test func put_isRefused_whenJSONIsTooDeep() async throws {
            let app = try await RegistryApp.make()
            let deep = String(repeating: "[", count: 17) + String(repeating: "]", count: 17)
            let text = "{\"more\":\(deep)," + SampleRegistration.make("phone").text.dropFirst()
            #expect(try await app.put(raw: Array(text.utf8)).status == 400)
        }

        @Test func strings_areCountedInScalars_whenTheyAreLong() async throws {
            let app = try await RegistryApp.make()
            var body = SampleRegistration.make("phone")
            body["device"]["carrier"] = .string(String(repeating: "é", count: 256))
            #expect(try await app.put("phone", body).status == 201)
            body["device"]["carrier"] = .string(String(repeating: "👍", count: 257))
            #expect(try await app.put("phone", body).faults == ["/device/carrier too-long"])
        }

        @Test(arguments: ["%20", "a%C3%A9", String(repeating: "x", count: 129)])
        func put_isRefused_whenInstallIDOfThePathIsInvalid(installID: String) async throws {
            let app = try await RegistryApp.make()
            let response = try await app.put(installID)
            #expect(response.status == 400)
            #expect(response.faults == ["installId invalid-install-id"])
        }
    }
}

extension RegistryApp {
    /// Registers `phone` with these bytes as the body.
    fileprivate func put(raw bytes: [UInt8]) async throws -> HTTPResponse {
        var request = registration("phone")
        request.body = bytes
        return try await registry.client.response(to: request)
    }
}

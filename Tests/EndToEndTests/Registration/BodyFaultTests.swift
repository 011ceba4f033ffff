import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("An invalid registration is a 400 that lists every fault with its pointer")
    struct BodyFaultTests {
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

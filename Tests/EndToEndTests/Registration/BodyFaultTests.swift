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

        @Test(arguments: ["%20", "a%C3%A9", String(repeating: "x", count: 129)])
        func put_isRefused_whenInstallIDOfThePathIsInvalid(installID: String) async throws {
            let app = try await RegistryApp.make()
            let response = try await app.put(installID)
            #expect(response.status == 400)
            #expect(response.faults == ["installId invalid-install-id"])
        }
    }
}

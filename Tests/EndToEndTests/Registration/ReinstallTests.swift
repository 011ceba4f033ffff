import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A reinstall marks the older installation without changing it (R5)")
    struct ReinstallTests {
        private func body(_ installID: String) -> JSON {
            var body = SampleRegistration.make(installID)
            for name in ["keychainId", "vendorId"] { body["device"][name] = "of the device" }
            return body
        }

        @Test func olderInstallation_isMarkedAndStaysActive_untilItRegistersAgain() async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("old", body("old"), as: "alice")
            _ = try await app.put("new", body("new"), as: "alice")
            let (old, new) = (try await app.get("old").json, try await app.get("new").json)
            #expect(old["probablyReplacedBy"] == "new" && new["probablyReplacedBy"] == .null)
            #expect(old["state"] == "active" && old["generation"].integer == first.generation)
            let again = try await app.put("old", body("old"), as: "alice")
            #expect(again.status == 200 && again.generation == first.generation)
            for phone in ["old", "new"] {
                #expect(try await app.get(phone).json["probablyReplacedBy"] == .null)
            }
        }

        @Test func mark_isShownToServicesOnly() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("old", body("old"))
            _ = try await app.put("new", body("new"))
            let record = try await app.get("old", by: .role(.client))
            #expect(record.status == 200)
            #expect(!record.json.object.keys.contains("probablyReplacedBy"))
        }
    }
}

import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A reinstall marks the older installation without changing it (R5)")
    struct ReinstallTests {
        private func body(
            _ installID: String, keychain: String? = "kc", vendor: String? = "v", model: String = "iPhone17,3"
        ) -> JSON {
            var body = SampleRegistration.make(installID)
            body["device"]["keychainId"] = keychain.map { .string($0) } ?? .null
            body["device"]["vendorId"] = vendor.map { .string($0) } ?? .null
            body["device"]["deviceModel"] = .string(model)
            return body
        }

        private func replacement(_ app: RegistryApp, _ installID: String) async throws -> JSON {
            try await app.get(installID).json["probablyReplacedBy"]
        }

        @Test func olderInstallation_isMarkedAndStaysActive_afterAReinstall() async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("old", body("old"), as: "alice")
            _ = try await app.put("new", body("new"), as: "alice")
            let old = try await app.get("old").json
            #expect(old["probablyReplacedBy"] == "new")
            #expect(old["state"] == "active")
            #expect(old["generation"].integer == first.generation)
            #expect(try await replacement(app, "new") == .null)
        }

        @Test func mark_isCleared_whenTheOlderInstallationRegistersAgain() async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("old", body("old"), as: "alice")
            _ = try await app.put("new", body("new"), as: "alice")
            let again = try await app.put("old", body("old"), as: "alice")
            #expect(again.status == 200)
            #expect(again.generation == first.generation)
            #expect(try await replacement(app, "old") == .null)
            #expect(try await replacement(app, "new") == .null)
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

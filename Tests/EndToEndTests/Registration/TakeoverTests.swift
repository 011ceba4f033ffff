import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A token moves with the phone, without data of the former holder (R3, R4)")
    struct TakeoverTests {
        private let token = SampleRegistration.token("shared")

        /// Installation A of Alice holds the token, then installation B of Bob registers it.
        @Test func takeover_movesToken_andHasEventsOfBothInstallations() async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("A", SampleRegistration.make("A", token: token), as: "alice", session: "sa")
            let second = try await app.put("B", SampleRegistration.make("B", token: token), as: "bob", session: "sb")
            #expect(second.status == 201)
            #expect(try await app.holders(of: token) == ["B"])
            let former = try await app.get("A").json
            #expect(former["state"] == "superseded" && former["token"] == .null && former["reachable"] == false)
            #expect(former["userId"] == "alice")
            #expect(former["generation"].integer == first.generation.map { $0 + 1 })
            let events = try await app.events(of: "A")
            #expect(events.map(\.event) == ["registered", "superseded"])
            #expect(events[1].userID == "alice")
            let new = try await app.events(of: "B")
            #expect(new.map(\.event) == ["takenOver"])
            #expect(new[0].previousUserID == "alice" && new[0].userID == "bob")
            #expect(new[0].tokenSHA256 == events[1].tokenSHA256)
            #expect(new[0].actor == "service:" + app.keyID(.service))
        }

        @Test func takeover_leavesNothingOfTheFormerSnapshot_inTheNewRecordOrResponse() async throws {
            let app = try await RegistryApp.make()
            var mine = SampleRegistration.make("A", token: token)
            mine["device"]["carrier"] = "Carrier of Alice"
            mine["device"]["keychainId"] = "keychain of Alice"
            _ = try await app.put("A", mine, as: "alice", session: "session-of-alice")
            let bare: JSON = [
                "token": .string(token),
                "device": [
                    "installId": "B", "deviceModel": "m", "systemName": "s", "systemVersion": "1", "locale": "fr_FR",
                    "timeZoneId": "Europe/Paris", "timeZoneOffset": 0,
                ],
            ]
            let response = try await app.put("B", bare, as: "bob")
            let record = try await app.get("B")
            #expect(!(response.text + record.text).lowercased().contains("alice"))
            for name in ["carrier", "keychainId", "vendorId", "appVersion", "location", "region"] {
                #expect(record.json["device"][name] == .null)
            }
            #expect(record.json["settings"]["soundSetting"] == "unknown")
        }

        @Test func installation_changesOwnerInPlace_whenAnotherUserRegistersIt() async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("phone", as: "alice", session: "sa")
            let second = try await app.put("phone", as: "bob")
            #expect(second.status == 200)
            #expect(second.json["status"] == "updated")
            #expect(second.json["userId"] == "bob")
            #expect(second.generation == first.generation.map { $0 + 1 })
            #expect(try await app.get("phone").json["sessionId"] == .null)
            let event = try #require(try await app.events(of: "phone").last)
            #expect(event.userID == "bob")
            #expect(event.previousUserID == "alice")
        }

        @Test func sameText_isAnotherToken_underAnotherProviderOrApp() async throws {
            let (app, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            _ = try await app.put("A", SampleRegistration.make("A", token: token))
            _ = try await app.put("B", SampleRegistration.make("B", token: token, provider: "apnsSandbox"))
            _ = try await app.put("C", SampleRegistration.make("C", token: token, provider: "fcm"))
            _ = try await other.put("A", SampleRegistration.make("A", token: token))
            #expect(try await app.holders(of: token) == ["A", "B", "C"])
            #expect(try await other.holders(of: token) == ["A"])
        }

        @Test func rotation_dropsTheOldToken_whenInstallationRegistersAnother() async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("phone", SampleRegistration.make("phone", token: token), as: "alice")
            let next = SampleRegistration.token("next")
            let second = try await app.put("phone", SampleRegistration.make("phone", token: next), as: "alice")
            #expect(second.json["status"] == "updated")
            #expect(second.generation == first.generation.map { $0 + 1 })
            #expect(try await app.holders(of: token) == [])
            #expect(try await app.holders(of: next) == ["phone"])
            #expect(try await app.events(of: "phone").map(\.event) == ["registered", "rotated"])
        }
    }
}

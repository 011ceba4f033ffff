import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Only a service names users and sessions")
    struct ActingUserTests {
        /// If the header were ignored, the client would believe that it acts for the user.
        @Test(arguments: [("PUT", ""), ("GET", ""), ("DELETE", ""), ("POST", "/logout")])
        func actingHeaders_areA403_onEveryCallOfAClient(method: String, rest: String) async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let body = method == "PUT" ? SampleRegistration.make("phone") : nil
            for field in [
                ("X-User-Id", "alice"), ("X-User-Id", ""), ("X-Session-Id", "s1"),
                ("X-Session-Expires-At", "2030-01-01T00:00:00Z"),
            ] {
                let response = try await app.send(
                    method, "/installations/phone" + rest, body, by: .role(.client), fields: [field])
                #expect(response.status == 403, "\(field)")
            }
            #expect(try await app.get("phone").json["userId"] == "alice")
        }

        /// A service that names a user gets the response that the user's JWT gets.
        @Test func namedUser_isHonoured_onGetAndDelete() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "bob")
            for (method, rest) in [("GET", ""), ("DELETE", ""), ("GET", "/snapshots"), ("GET", "/history")] {
                let response = try await app.send(
                    method, "/installations/phone" + rest, fields: [("X-User-Id", "alice")])
                #expect(response.status == 404 && response.code == "unknown-installation", "\(method) \(rest)")
            }
            for rest in ["", "/snapshots", "/history"] {
                let response = try await app.send("GET", "/installations/phone" + rest, fields: [("X-User-Id", "bob")])
                #expect(response.status == 200, "GET \(rest)")
            }
            let removed = try await app.send("DELETE", "/installations/phone", fields: [("X-User-Id", "bob")])
            #expect(removed.status == 204)
            #expect(try await app.get("phone").status == 404)
        }

        /// Invalid headers of a service, and the reported ones.
        private static let faults: [(fields: [(String, String)], expected: [String])] = [
            ([("X-User-Id", "")], ["X-User-Id"]),
            ([("X-User-Id", String(repeating: "u", count: 129))], ["X-User-Id"]),
            ([("X-User-Id", "two words")], ["X-User-Id"]),
            ([("X-Session-Id", "s1")], ["X-User-Id"]),
            ([("X-User-Id", "alice"), ("X-Session-Id", "")], ["X-Session-Id"]),
            (
                [("X-User-Id", "alice"), ("X-Session-Expires-At", "2030-01-01T00:00:00Z")], ["X-Session-Expires-At"]
            ),
            (
                [("X-User-Id", "alice"), ("X-Session-Id", "s1"), ("X-Session-Expires-At", "tomorrow")],
                ["X-Session-Expires-At"]
            ),
            ([("X-User-Id", ""), ("X-Session-Id", "")], ["X-User-Id", "X-Session-Id"]),
        ]

        @Test(arguments: [("PUT", ""), ("GET", ""), ("DELETE", ""), ("GET", "/snapshots"), ("GET", "/history")])
        func invalidHeaders_areA400_onEveryCallOfAService(method: String, rest: String) async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "bob")
            let body = method == "PUT" ? SampleRegistration.make("phone") : nil
            for fault in Self.faults {
                let response = try await app.send(
                    method, "/installations/phone" + rest, body, fields: fault.fields)
                #expect(response.status == 400 && response.code == "invalid-header", "\(fault.fields)")
                #expect(response.faults == fault.expected.map { "\($0) invalid-header" })
            }
            #expect(try await app.get("phone").json["userId"] == "bob")
        }

        @Test func identifiers_mayBe128VisibleCharacters() async throws {
            let app = try await RegistryApp.make()
            let longest = String(repeating: "~", count: 128)
            let response = try await app.put("phone", as: longest, session: longest)
            #expect(response.status == 201)
            #expect(response.json["userId"].string == longest)
        }

        @Test func session_isPartOfTheBinding_whenItChanges() async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("phone", as: "alice", session: "s1")
            let second = try await app.put("phone", as: "alice", session: "s2")
            #expect(second.json["status"] == "updated")
            #expect(second.generation == first.generation.map { $0 + 1 })
            let event = try #require(try await app.events(of: "phone").last)
            #expect([event.event, event.reason] == ["registered", "sessionChanged"])
        }
    }
}

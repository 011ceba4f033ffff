import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Only a service names users and sessions")
    struct OnBehalfTests {
        @Test(arguments: [
            [("X-User-Id", "alice")], [("X-Session-Id", "s1")], [("X-Session-Expires-At", "2030-01-01T00:00:00Z")],
            [("X-User-Id", "")],
        ])
        func naming_isA403_whenAClientDoesIt(fields: [(String, String)]) async throws {
            let app = try await RegistryApp.make()
            var request = app.registration("phone", by: .role(.client))
            request.fields += fields.map { (name: $0.0, value: $0.1) }
            let answer = try await app.registry.client.response(to: request)
            #expect(answer.status == 403)
            #expect(try await app.get("phone").status == 404)
        }

        /// A header that were passed over would have a client believe that it asks as somebody.
        @Test(arguments: [("GET", ""), ("DELETE", ""), ("POST", "/logout")])
        func naming_isA403_whateverTheClientAsksFor(method: String, rest: String) async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let answer = try await app.send(
                method, "/installations/phone" + rest, by: .role(.client), fields: [("X-User-Id", "alice")])
            #expect(answer.status == 403)
            #expect(try await app.get("phone").json["userId"] == "alice")
        }

        /// A back end that names a user gets what a JWT of that user would get.
        @Test func namedUser_isHonoured_onGetAndDelete() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "bob")
            for (method, rest) in [("GET", ""), ("DELETE", ""), ("GET", "/snapshots"), ("GET", "/history")] {
                let answer = try await app.send(
                    method, "/installations/phone" + rest, fields: [("X-User-Id", "alice")])
                #expect(answer.status == 404 && answer.code == "unknown-installation", "\(method) \(rest)")
            }
            for rest in ["", "/snapshots", "/history"] {
                let answer = try await app.send("GET", "/installations/phone" + rest, fields: [("X-User-Id", "bob")])
                #expect(answer.status == 200, "GET \(rest)")
            }
            let removed = try await app.send("DELETE", "/installations/phone", fields: [("X-User-Id", "bob")])
            #expect(removed.status == 204)
            #expect(try await app.get("phone").status == 404)
        }

        @Test(arguments: [("GET", ""), ("DELETE", ""), ("GET", "/snapshots"), ("GET", "/history")])
        func wrongHeader_isA400_whateverTheServiceAsksFor(method: String, rest: String) async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "bob")
            for fields in [[("X-User-Id", "")], [("X-User-Id", "two words")], [("X-Session-Id", "s1")]] {
                let answer = try await app.send(method, "/installations/phone" + rest, fields: fields)
                #expect(answer.status == 400 && answer.code == "invalid-header", "\(fields)")
            }
            #expect(try await app.get("phone").status == 200)
        }

        /// Headers of a service that are wrong, and which of them are told.
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

        @Test func headers_areA400_whenTheyAreWrong() async throws {
            let app = try await RegistryApp.make()
            for fault in Self.faults {
                var request = app.registration("phone")
                request.fields += fault.fields.map { (name: $0.0, value: $0.1) }
                let answer = try await app.registry.client.response(to: request)
                #expect(answer.status == 400)
                #expect(answer.code == "invalid-header")
                #expect(answer.faults == fault.expected.map { "\($0) invalid-header" })
            }
        }

        @Test func identifiers_mayBe128VisibleCharacters() async throws {
            let app = try await RegistryApp.make()
            let longest = String(repeating: "~", count: 128)
            let answer = try await app.put("phone", as: longest, session: longest)
            #expect(answer.status == 201)
            #expect(answer.json["userId"].string == longest)
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

        @Test func users_areComparedExactly_whenCaseDiffers() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            #expect(try await app.put("phone", as: "Alice").json["status"] == "updated")
        }
    }
}

import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("The policy limits the active installations of a user")
    struct UserLimitTests {
        @Test func longestUnseen_losesItsToken_andTellsWhy() async throws {
            let app = try await RegistryApp.make()
            let policy: JSON = ["installationsPerUser": 2]
            #expect(try await app.send("PATCH", "", policy, by: .role(.admin)).json["installationsPerUser"] == 2)
            for phone in ["a", "b", "c"] { #expect(try await app.put(phone, as: "alice").status == 201) }
            let former = try await app.get("a").json
            #expect(former["state"] == "superseded" && former["token"] == .null && former["userId"] == "alice")
            #expect(try await app.events(of: "a").map(\.reason) == ["firstRegistration", "limit"])
            // It comes back, and another one goes.
            #expect(try await app.put("a", as: "alice").status == 200)
            #expect(try await app.get("b").json["state"] == "superseded")
            #expect(try await app.put("d", as: "bob").status == 201)
            #expect(try await app.count([:], include: "active") == 3)
            let off = try await app.send("PATCH", "", ["installationsPerUser": nil], by: .role(.admin))
            #expect(off.json["installationsPerUser"] == .null)
            #expect(try await app.put("b", as: "alice").status == 200)
            #expect(try await app.count([:], include: "active") == 4)
        }

        @Test(arguments: [0, 1_001] as [JSON]) func limit_isRefused_outOfRange(value: JSON) async throws {
            let app = try await RegistryApp.make()
            let response = try await app.send("PATCH", "", ["installationsPerUser": value], by: .role(.admin))
            #expect(response.status == 400 && response.faults == ["/installationsPerUser out-of-range"])
        }

        /// A delivery key keeps an owner whom the call does not name.
        @Test func deliveryKey_thatRevives_countsForItsUser() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.send("PATCH", "", ["installationsPerUser": 2], by: .role(.admin))
            let key = try #require(try await app.put("a", as: "alice").json["deliveryKey"].string)
            for phone in ["b", "c"] { #expect(try await app.put(phone, as: "alice").status == 201) }
            #expect(try await app.get("a").json["state"] == "superseded")
            let first = try #require(try await app.put("a", as: "alice").json["deliveryKey"].string)
            #expect(first != key)
            let verdict: JSON = [
                "installId": "a", "reason": "BadDeviceToken", "generation": try await app.get("a").json["generation"],
            ]
            #expect(try await app.send("POST", "/feedback", [verdict], by: .role(.sender)).json["suspect"] == 1)
            #expect(try await app.put("b", as: "alice").status == 200)
            let revived = try await app.send(
                "PUT", "/installations/a", SampleRegistration.make("a", token: SampleRegistration.token("rotated")),
                by: .role(.client),
                fields: [("X-Delivery-Key", first)])
            #expect(revived.status == 200, "\(revived.text)")
            let active = try await app.database.count(
                "SELECT count(*) FROM installation WHERE state = 'active' AND app_id = \(try await app.number())")
            #expect(active == 2)
        }
    }
}

import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A notification waits until its installation acknowledges it (fine print 60 to 63)")
    struct NotificationTests {
        @Test func post_returnsTokenAndNumber_forEachReachableInstallation() async throws {
            let app = try await RegistryApp.make()
            try await app.phone("one", as: "alice")
            try await app.phone("two", as: "alice")
            try await app.phone(
                "silent",
                SampleRegistration.make("silent", settings: SampleRegistration.settings(authorizationStatus: "denied")),
                as: "alice")
            let response = try await app.post(to: ["userId": "alice"])
            #expect(response.status == 200)
            let entries = response.json["notifications"].array
            #expect(entries.map { $0["installId"] } == ["one", "two"])
            #expect(entries[0]["token"] == .string(SampleRegistration.token("one")))
            #expect(entries[0]["provider"] == "apns" && entries[0]["keys"] == .null)
            #expect(entries.allSatisfy { $0["number"] == 1 && $0["previous"] == 0 })
            #expect(entries[0]["epoch"] != entries[1]["epoch"])
            #expect(entries[0]["epoch"] == (try await app.put("one", as: "alice")).json["epoch"])
        }

        @Test func fetch_returnsNotifications_inOrder_byteForByte() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone()
            let payload = #"{ "b": 1.0e2,"a" :[9007199254740993, "\u00e9"] }"#
            let body = #"{"to": {"installId": "phone"}, "payload": "# + payload + #", "collapseId": "c"}"#
            var request = app.request("POST", "/notifications", by: .role(.sender))
            request.body = Array(body.utf8)
            #expect(try await app.registry.client.response(to: request).status == 200)
            try await app.post(toPhone: "phone", "second")
            let response = try await app.fetch("phone", by: key)
            #expect(response.status == 200)
            #expect(response["Cache-Control"] == "no-store")
            #expect(response.numbers == [1, 2])
            #expect(response.text.contains(#""payload":"# + payload + ","))
            #expect(response.json["notifications"][0]["collapseId"] == "c")
            #expect(response.json["notifications"][1]["payload"] == "second")
            #expect(response.json["last"] == 2 && response.json["next"] == .null)
        }

        @Test func after_acknowledges_andLowerNumbersAreNotReturnedAgain() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone()
            for _ in 0..<3 { try await app.post(toPhone: "phone") }
            #expect(try await app.fetch("phone", after: 2, by: key).numbers == [3])
            #expect(try await app.fetch("phone", by: key).numbers == [3])
            #expect(try await app.fetch("phone", after: 3, by: key).numbers.isEmpty)
            let next = try await app.post(toPhone: "phone")
            #expect(next["number"] == 4 && next["previous"] == 0)
        }

        @Test func badge_isTheNumberThatWaits_forEachInstallation() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone("one", as: "alice")
            try await app.phone("two", as: "alice")
            for _ in 0..<2 { try await app.post(toPhone: "one") }
            let both = try await app.post(to: ["userId": "alice"], "hello", ["dedupId": "d"])
            #expect(both.json["notifications"].array.map { $0["badge"] } == [3, 1])
            #expect(try await app.fetch("one", after: 2, by: key).numbers == [3])
            #expect(try await app.post(toPhone: "one")["badge"] == 2)
            let repeated = try await app.post(to: ["userId": "alice"], "hello", ["dedupId": "d"])
            #expect(repeated.json["notifications"].array.map { $0["badge"] } == [2, 1])
        }

        @Test func pages_followOneAnother() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone()
            for _ in 0..<5 { try await app.post(toPhone: "phone") }
            let first = try await app.fetch("phone", limit: 2, by: key)
            #expect(first.numbers == [1, 2] && first.json["next"] == 2 && first.json["last"] == 5)
            let second = try await app.fetch("phone", after: 2, limit: 3, by: key)
            #expect(second.numbers == [3, 4, 5] && second.json["next"] == .null)
        }

        @Test func expiredNotification_isNeverReturned_andCausesNo410() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone()
            try await app.post(toPhone: "phone", "old", ["ttl": "PT1S"])
            try await app.expireNotifications()
            #expect(try await app.fetch("phone", by: key).numbers.isEmpty)
            let next = try await app.post(toPhone: "phone")
            #expect(next["number"] == 2 && next["previous"] == 0)
            let response = try await app.fetch("phone", by: key)
            #expect(response.status == 200 && response.numbers == [2])
        }

        @Test func collapse_replacesTheOlderNotification() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone()
            try await app.post(toPhone: "phone", "other")
            try await app.post(toPhone: "phone", "old", ["collapseId": "mail"])
            let next = try await app.post(toPhone: "phone", "new", ["collapseId": "mail"])
            #expect(next["number"] == 3 && next["previous"] == 1)
            #expect(try await app.fetch("phone", by: key).numbers == [1, 3])
        }

        @Test func limit_dropsTheOldest_andTheFetchReportsIt() async throws {
            let app = try await RegistryApp.make(policy: ["notificationsMax": 3])
            let key = try await app.phone()
            for _ in 0..<5 { try await app.post(toPhone: "phone") }
            let gone = try await app.fetch("phone", after: 1, by: key)
            #expect(gone.status == 410 && gone.json["code"] == "notifications-gone")
            #expect(gone.json["first"] == 3 && gone.json["last"] == 5)
            #expect(try await app.fetch("phone", by: key).status == 410, "a refusal does not acknowledge")
            #expect(try await app.fetch("phone", after: 2, by: key).numbers == [3, 4, 5])
            #expect(try await app.fetch("phone", by: key).status == 200, "the client has reached what was dropped")
        }

        @Test func droppedNotification_isReported_evenAfterAllHaveExpired() async throws {
            let app = try await RegistryApp.make(policy: ["notificationsMax": 1])
            let key = try await app.phone()
            for _ in 0..<2 { try await app.post(toPhone: "phone") }
            try await app.expireNotifications()
            let gone = try await app.fetch("phone", by: key)
            #expect(gone.status == 410 && gone.json["first"] == 3 && gone.json["last"] == 2)
        }

        @Test func dedup_returnsTheSameNumbers_andStoresNothing() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone()
            let first = try await app.post(toPhone: "phone", "a", ["dedupId": "order-1"])
            #expect(try await app.fetch("phone", after: 1, by: key).numbers.isEmpty)
            #expect(try await app.post(toPhone: "phone", "b", ["dedupId": "order-1"]) == first)
            #expect(try await app.fetch("phone", by: key).json["last"] == 1)
            try await app.expireNotifications()
            #expect(try await app.post(toPhone: "phone", "c", ["dedupId": "order-1"])["number"] == 2)
        }

        @Test func dedup_isSeparate_forEachInstallation() async throws {
            let app = try await RegistryApp.make()
            try await app.phone("one", as: "alice")
            _ = try await app.post(to: ["userId": "alice"], "x", ["dedupId": "d"])
            try await app.phone("two", as: "alice")
            try await app.post(toPhone: "two")
            let again = try await app.post(to: ["userId": "alice"], "x", ["dedupId": "d"])
            #expect(again.numbers == [1, 2])
        }

        @Test func users_countOnce_andUnknownUsersHaveNoEntry() async throws {
            let app = try await RegistryApp.make()
            try await app.phone("a", as: "alice")
            try await app.phone("b", as: "bob")
            let response = try await app.post(to: ["userIds": ["bob", "nobody", "alice", "bob"]])
            #expect(response.json["notifications"].array.map { $0["installId"] } == ["b", "a"])
            #expect(try await app.post(to: ["installId": "nothing"]).status == 404)
        }

        @Test func installation_hasNoEntry_whenItsGenerationDiffers() async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("phone", as: "alice")
            let known = JSON.integer(try #require(first.generation))
            #expect(try await app.post(to: ["installId": "phone", "generation": known]).numbers == [1])
            _ = try await app.put("phone", as: "bob")
            let late = try await app.post(to: ["installId": "phone", "generation": known])
            #expect(late.status == 200 && late.json["notifications"] == [])
        }

        @Test func topic_leavesOutInstallations_thatLeftIt() async throws {
            let app = try await RegistryApp.make()
            try await app.putTopic("news", isIn: true)
            try await app.putTopic("offers", isIn: false)
            for phone in ["plain", "other"] { try await app.phone(phone, as: "alice") }
            _ = try await app.choose(["news": false, "offers": true], on: "other")
            func phones(_ topic: String) async throws -> [JSON] {
                try await app.post(to: ["userId": "alice"], 1, ["topic": .string(topic)])
                    .json["notifications"].array.map { $0["installId"] }
            }
            #expect(try await phones("news") == ["plain"])
            #expect(try await phones("offers") == ["other"])
            let unknown = try await app.post(to: ["userId": "alice"], 1, ["topic": "nothing"])
            #expect(unknown.status == 400 && unknown.json["errors"][0]["pointer"] == "/topic")
        }

        @Test func body_faultsAreAllListed() async throws {
            let app = try await RegistryApp.make()
            let long = JSON.string(String(repeating: "x", count: 4_095))
            let bodies: [(JSON, [String])] = [
                ([:], ["/to", "/payload"]),
                (["to": [:], "payload": nil], ["/to", "/payload"]),
                (["to": ["installId": "a", "userId": "b"], "payload": 1, "ttl": "PT0S"], ["/to", "/ttl"]),
                (["to": ["userId": "b", "generation": 1], "payload": 1, "ttl": "P29D"], ["/to/generation", "/ttl"]),
                (["to": ["userIds": []], "payload": long], ["/payload", "/to/userIds"]),
                (["to": ["userIds": ["a", 1]], "payload": 1, "dedupId": ""], ["/dedupId", "/to/userIds/1"]),
                (
                    ["to": ["userId": "a"], "payload": 1, "collapseId": .string(String(repeating: "é", count: 65))],
                    ["/collapseId"]
                ),
            ]
            for (body, pointers) in bodies {
                let response = try await app.send("POST", "/notifications", body, by: .role(.sender))
                #expect(response.status == 400)
                #expect(
                    Set(response.json["errors"].array.compactMap { $0["pointer"].string }) == Set(pointers), "\(body)")
            }
        }

        @Test func query_faultsAreAllListed() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone()
            for query in ["after=-1", "after=x", "limit=0", "limit=101", "before=1"] {
                let response = try await app.send("GET", "/installations/phone/notifications?" + query, by: key)
                #expect(response.status == 400, "\(query)")
            }
            let faulty = try await app.send(
                "GET", "/installations/phone/notifications?after=0&after=1&limit=0&before=1", by: key)
            #expect(
                Set(faulty.faults) == [
                    "after invalid-parameter", "limit out-of-range", "before unknown-parameter",
                ])
            let refused = try await app.send("GET", "/installations/phone/notifications?limit=0", by: .text("prd_AAEC"))
            #expect(refused.status == 401)
        }
    }
}

import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A Firebase installation id and its tokens are one address (R1, R4, R9)")
    struct FirebaseAddressTests {
        private let fid = "dQw4w9WgXcQ-_012345678"
        private var token: String { fid + ":APA91b" }

        private func body(_ token: String, of installID: String = "phone") -> JSON {
            SampleRegistration.make(installID, token: token, provider: "fcm")
        }

        @Test func spelling_isUpdated_withAGenerationAndAnEventOfItsOwn() async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("phone", body(token), as: "alice")
            let second = try await app.put("phone", body(fid), as: "alice")
            #expect(second.status == 200 && second.json["status"] == "updated")
            #expect(second.generation == first.generation.map { $0 + 1 })
            #expect(second.json["epoch"] == first.json["epoch"])
            #expect(try await app.put("phone", body(fid), as: "alice").json["status"] == "unchanged")
            let events = try await app.events(of: "phone")
            #expect(events.map { "\($0.event) \($0.reason)" } == ["registered firstRegistration", "rotated respelled"])
            #expect(events[0].tokenSHA256 == events[1].tokenSHA256)
            let record = try await app.get("phone").json
            #expect(record["token"] == .string(fid) && record["addressKind"] == "fid")
            #expect(try await app.get("phone", by: .role(.support)).json.object["addressKind"] == nil)
            try await app.expectCompleteHistory()
        }

        @Test func spelling_isATakeover_onAnotherInstallation_andForAnotherUser() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("old", body(token, of: "old"), as: "alice")
            #expect(try await app.put("new", body(fid, of: "new"), as: "alice").status == 201)
            let old = try await app.get("old").json
            #expect(old["state"] == "superseded" && old["token"] == .null && old["addressKind"] == .null)
            #expect(try await app.put("new", body(token, of: "new"), as: "bob").json["status"] == "updated")
            #expect(try await app.events(of: "new").map(\.event) == ["takenOver", "takenOver"])
            #expect(try await app.events(of: "new")[1].reason == "ownerChanged")
            try await app.expectCompleteHistory()
        }

        @Test func history_isFound_byEverySpelling() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("old", body(token, of: "old"))
            _ = try await app.put("new", body(fid, of: "new"))
            for spelling in [fid, token, fid + ":other"] {
                let query: JSON = ["token": .string(spelling), "provider": "fcm"]
                let page = try await app.send("POST", "/tokens/history", query).json
                #expect(page["events"].array.map { $0["event"] } == ["takenOver", "superseded", "registered"])
            }
        }

        @Test func feedback_isOutdated_aboutAnotherSpelling() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", body(token))
            let generation = try #require(try await app.put("phone", body(fid)).generation)
            try await app.waitTwoDays()
            func item(_ spelling: String, _ reason: String, _ more: JSON = [:]) -> JSON {
                let item: JSON = ["token": .string(spelling), "reason": .string(reason), "provider": "fcm"]
                return .object(item.object.merging(more.object) { $1 })
            }
            let named: JSON = ["installId": "phone", "generation": .integer(generation)]
            let counts = try await app.feedback([
                item(token, "UNREGISTERED"), item(token, "UNAVAILABLE"), item(token, "UNREGISTERED", named),
                item(fid, "UNAVAILABLE"),
            ]).counts
            #expect(counts == ["received": 4, "outdated": 3, "ignored": 1])
            #expect(try await app.feedback([item(fid, "UNREGISTERED")]).counts == ["received": 1, "unregistered": 1])
            #expect(try await app.feedback([item(token, "UNREGISTERED")]).counts == ["received": 1, "outdated": 1])
        }
    }

    @Suite("Senders see how an installation is addressed, and teams how many have turned to installation ids")
    struct AddressKindTests {
        private let fid = "dQw4w9WgXcQ-_012345678"

        private func fleet() async throws -> RegistryApp {
            let app = try await RegistryApp.make()
            for (name, token, provider, version) in [
                ("a", fid, "fcm", "2.0"), ("b", "e" + fid.dropFirst() + ":APA91b", "fcm", "1.0"),
                ("c", "legacy", "fcm", "1.0"), ("d", "c" + fid.dropFirst(), "fcm", "2.0"),
                ("e", "c" + fid.dropFirst(), "huawei", "1.0"), ("f", SampleRegistration.token("f"), "apns", "2.0"),
                ("g", "lost", "fcm", "1.0"), ("h", "lost", "fcm", "1.0"),
            ] {
                var device = SampleRegistration.device(name)
                device["appVersion"] = .string(version)
                let body = SampleRegistration.make(name, token: token, provider: provider, device: device)
                #expect(try await app.put(name, body).status == 201)
            }
            return app
        }

        @Test func lists_andNotifications_haveTheKindBesideTheToken() async throws {
            let app = try await fleet()
            let items = try await app.ask("installations", ["filter": [:], "include": "all"]).json["installations"]
            let kinds = items.array.map { $0["addressKind"].string }
            #expect(kinds == ["fid", "token", "token", "fid", "token", "token", nil, "token"])
            #expect(items.array.allSatisfy { $0.object["addressKind"] != nil })
            let marketing = try await app.ask("installations", ["filter": [:]], by: .role(.marketing)).json
            #expect(marketing["installations"].array.allSatisfy { Array($0.object.keys) == ["id"] })
            #expect(try await app.post(toPhone: "a")["addressKind"] == "fid")
            #expect(try await app.post(toPhone: "f")["addressKind"] == "token")
        }

        @Test func userLists_haveTheKindBesideTheToken_ofEveryProvider() async throws {
            let app = try await RegistryApp.make()
            for (name, token, provider) in [
                ("a", fid, "fcm"), ("b", SampleRegistration.token("b"), "apns"),
                ("c", "https://fcm.googleapis.com/c", "webPush"),
            ] {
                var body = SampleRegistration.make(name, token: token, provider: provider)
                if provider == "webPush" { body["keys"] = ImportTests.keys }
                #expect(try await app.put(name, body, as: "alice").status == 201)
            }
            let own = try await app.send("GET", "/users/alice/installations", by: .role(.sender))
            let many = try await app.send("POST", "/users/installations", ["userIds": ["alice"]], by: .role(.sender))
            let page = try await app.ask("installations", ["filter": [:]])
            for list in [own.json["installations"], many.json["users"]["alice"], page.json["installations"]] {
                #expect(list.array.map { $0["addressKind"] } == ["fid", "token", "subscription"])
            }
        }

        @Test func export_hasTheKind_onlyIfItIsNamed_forMarketingToo() async throws {
            let app = try await fleet()
            #expect(try await app.export(["filter": [:]]).allSatisfy { $0.object["addressKind"] == nil })
            let body: JSON = ["filter": [:], "include": "all", "fields": ["installId", "addressKind"]]
            let rows = try await app.export(body)
            #expect(rows[0] == ["installId": "a", "addressKind": "fid"])
            #expect(rows[6] == ["installId": "g", "addressKind": .null])
            let marketing: JSON = [
                "filter": ["addressKind": "fid"], "format": "csv", "fields": ["id", "addressKind"],
            ]
            let file = try await app.ask("export", marketing, by: .role(.marketing)).text
            let lines = file.split(separator: "\r\n")
            #expect(lines.count == 3 && lines[0] == "id,addressKind" && lines[1...].allSatisfy { $0.hasSuffix(",fid") })
        }

        @Test func filter_selectsByTheKind() async throws {
            let app = try await fleet()
            for (condition, count) in [
                ("fid", 2), (["token", "subscription"], 5), (["ne": "token"], 3), (["nin": ["fid", "token"]], 1),
                (["exists": true], 7), (["exists": false], 1), (["eq": "fid", "exists": false], 0),
            ] as [(JSON, Int64)] {
                #expect(try await app.count(["addressKind": condition], include: "all") == count, "\(condition.text)")
            }
        }

        @Test func filter_isRefused_forAnotherValueOrOperator() async throws {
            let app = try await RegistryApp.make()
            for (condition, fault) in [
                ("FID", "/filter/addressKind unknown-value"),
                (["gt": "fid"], "/filter/addressKind/gt operator-not-allowed"),
            ] as [(JSON, String)] {
                let response = try await app.ask("count", ["filter": ["addressKind": condition]])
                #expect(response.status == 400 && response.faults == [fault])
            }
        }

        @Test func breakdown_showsTheMigration_byAppVersion() async throws {
            let app = try await fleet()
            let body: JSON = [
                "filter": ["provider": "fcm"], "include": "all", "by": ["addressKind", "appVersion"],
            ]
            let result = try await app.ask("breakdown", body, by: .role(.marketing)).json
            #expect(result["total"] == 6)
            #expect(
                result["groups"] == [
                    ["addressKind": "token", "appVersion": "1.0", "count": 3],
                    ["addressKind": "fid", "appVersion": "2.0", "count": 2],
                    ["addressKind": .null, "appVersion": "1.0", "count": 1],
                ])
        }
    }
}

import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A message has the counts of its events")
    struct MessageTests {
        @Test func message_isPut_read_andListed() async throws {
            let app = try await RegistryApp.make()
            let created = try await app.send("PUT", "/messages/one", [:], by: .role(.marketing))
            #expect(created.status == 201 && created.json["title"] == .null && created.json["labels"] == [:])
            let body: JSON = [
                "title": "Two", "labels": ["team": "growth", "a": "b"], "expiresIn": "PT1H", "record": true,
            ]
            #expect(try await app.send("PUT", "/messages/two", body, by: .role(.service)).status == 201)
            let replaced = try await app.send("PUT", "/messages/one", ["title": "One"], by: .role(.sender))
            #expect(replaced.status == 200 && replaced.json["createdAt"] == created.json["createdAt"])
            let two = try await app.send("GET", "/messages/two", by: .role(.service)).json
            #expect(two["message"] == "two" && two["labels"] == ["team": "growth", "a": "b"])
            #expect(MessageNumbers(two) == MessageNumbers())
            let first = try await app.send("GET", "/messages?limit=1", by: .role(.marketing)).json
            #expect(first["messages"].array.map { $0["message"] } == ["two"])
            let next = try #require(first["next"].string)
            let last = try await app.send("GET", "/messages?limit=1&after=\(next)", by: .role(.marketing)).json
            #expect(last["messages"].array.map { $0["title"] } == ["One"] && last["next"] == .null)
            #expect(try await app.send("DELETE", "/messages/one", by: .role(.admin)).status == 405)
        }

        @Test func message_knowsTheSegments_forWhichItWasHandedOut() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone")
            for name in ["a", "b", "c"] {
                let saved = try await app.send("PUT", "/segments/\(name)", ["filter": [:]], by: .role(.marketing))
                #expect(saved.status == 201)
            }
            let created = try await app.send("PUT", "/messages/sale", [:], by: .role(.sender))
            #expect(created.json["segments"] == [])
            let body: JSON = ["filter": ["any": [["segment": "b"], ["not": ["segment": "a"]]]], "message": "sale"]
            for _ in 1...2 {
                #expect(try await app.send("POST", "/audience/export", body, by: .role(.sender)).status == 200)
            }
            let list: JSON = ["filter": ["segment": "c"], "message": "sale"]
            #expect(try await app.send("POST", "/audience/installations", list, by: .role(.sender)).status == 200)
            // Only what was handed out counts.
            let count: JSON = ["filter": ["segment": "none"], "message": "sale"]
            #expect(try await app.send("POST", "/audience/installations", count, by: .role(.sender)).status == 400)
            let replaced = try await app.send("PUT", "/messages/sale", ["title": "Sale"], by: .role(.sender))
            #expect(replaced.json["segments"] == ["a", "b", "c"])
            let listed = try await app.send("GET", "/messages", by: .role(.marketing)).json
            #expect(listed["messages"].array.map { $0["segments"] } == [["a", "b", "c"]])
        }

        @Test func body_isRefused_withEveryFault() async throws {
            let app = try await RegistryApp.make(policy: ["receiptRetention": "P10D"])
            let body: JSON = [
                "title": .string(String(repeating: "x", count: 257)), "labels": ["a": 3], "expiresIn": "P11D",
                "record": "yes",
            ]
            let response = try await app.send("PUT", "/messages/m", body, by: .role(.sender))
            #expect(response.status == 400)
            #expect(
                Set(response.faults) == [
                    "/title too-long", "/labels/a wrong-type", "/expiresIn out-of-range", "/record wrong-type",
                ])
            let labels = JSON.object(Dictionary(uniqueKeysWithValues: (0..<33).map { ("label-\($0)", "x") }))
            #expect(try await app.send("PUT", "/messages/m", ["labels": labels], by: .role(.sender)).status == 400)
            #expect(try await app.send("PUT", "/messages/a%20b", [:], by: .role(.sender)).status == 400)
            #expect(try await app.send("PUT", "/messages/m", ["expiresIn": "P10D"], by: .role(.sender)).status == 201)
        }

        @Test func export_hasTheReceiptBeforeTheCursor_whateverItsFields() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b"] { _ = try await app.put(name) }
            try await app.putMessage("sale")
            for fields in [["token"], ["cursor", "token"], ["installId", "cursor"]] {
                let body: JSON = [
                    "filter": [:], "message": "sale", "format": "csv", "fields": .array(fields.map { .string($0) }),
                ]
                let lines = try await app.ask("export", body).text.split(separator: "\r\n")
                let expected = fields.filter { $0 != "cursor" } + ["receipt"] + fields.filter { $0 == "cursor" }
                #expect(lines[0].split(separator: ",").map(String.init) == expected)
                #expect(lines.count == 3)
            }
            #expect(try await app.counts(of: "sale").numbers[0] == 6)
            let page = try await app.ask("installations", ["filter": [:], "message": "sale", "limit": 1]).json
            let receipt = try #require(page["installations"].array.first?["receipt"].string)
            #expect(try await app.report("opened", receipt) == "accepted")
            #expect(try await app.counts(of: "sale").numbers[0] == 7)
        }

        @Test func resumedExport_countsItsOwnRows() async throws {
            let app = try await RegistryApp.make()
            for number in 0..<5 { _ = try await app.put("phone-\(number)") }
            try await app.putMessage("sale")
            let all = try await app.export(["filter": [:], "message": "sale"])
            let cursor = try #require(all[2]["cursor"].string)
            let rest = try await app.receipts(of: "sale", ["after": .string(cursor)])
            #expect(Set(rest.keys) == ["phone-3", "phone-4"])
            #expect(try await app.counts(of: "sale") == MessageNumbers(targeted: 7))
        }

        @Test func message_isRefused_whenUnknown_andForMarketing() async throws {
            let app = try await RegistryApp.make()
            for call in ["export", "installations"] {
                let unknown = try await app.ask(call, ["filter": [:], "message": "none"])
                #expect(unknown.status == 400 && unknown.faults == ["/message unknown-message"])
                let marketing = try await app.ask(call, ["filter": [:], "message": "none"], by: .role(.marketing))
                #expect(marketing.status == 403)
            }
        }

        @Test func verdicts_countAsFailed_once() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b", "c", "d"] { _ = try await app.put(name) }
            try await app.putMessage("sale")
            let receipts = try await app.receipts(of: "sale")
            let items: [JSON] = [
                ["token": .string(SampleRegistration.token("a")), "reason": "Unregistered", "message": "sale"],
                ["installId": "a", "reason": "BadDeviceToken", "message": "sale"],
                [
                    "token": .string(SampleRegistration.token("b")), "reason": "BadDeviceToken",
                    "receipt": .string(receipts["b"] ?? ""), "timestamp": "2020-01-01T00:00:00Z",
                ],
                ["installId": "c", "reason": "TooManyRequests", "message": "sale"],
                ["installId": "d", "reason": "Unregistered", "message": "unknown"],
            ]
            for _ in 0..<2 {
                let response = try await app.send("POST", "/feedback", .array(items), by: .role(.sender))
                #expect(response.status == 200 && response.json["invalid"] == 0)
            }
            #expect(try await app.counts(of: "sale") == MessageNumbers(targeted: 4, failed: 2))
        }

        @Test func verdicts_onTypedTokens_countAsFailed() async throws {
            let app = try await RegistryApp.make()
            let names = ["a", "b", "c", "d", "e", "f"]
            let voip = { (name: String) in JSON.string(SampleRegistration.token("\(name) voip")) }
            for name in names {
                var body = SampleRegistration.make(name)
                body["tokens"] = [["kind": "voip", "token": voip(name)]]
                _ = try await app.put(name, body)
            }
            for (message, body) in [("plain", [:]), ("recorded", ["record": true])] as [(String, JSON)] {
                try await app.putMessage(message, body)
                _ = try await app.receipts(of: message, ["kind": "voip"])
                let reason: JSON = "Unregistered"
                // Those about `d` and `e` are about tokens that nobody has.
                let items: [JSON] = [
                    ["token": voip("a"), "kind": "voip", "reason": reason],
                    ["token": voip("b"), "reason": reason], ["token": voip("c"), "provider": "apns", "reason": reason],
                    ["token": voip("d"), "kind": "widget", "reason": reason],
                    ["token": voip("e"), "provider": "apnsSandbox", "reason": reason],
                    ["token": .string(SampleRegistration.token("f")), "kind": "voip", "reason": reason],
                ]
                let sent = items.map { item -> JSON in
                    var item = item
                    item["message"] = .string(message)
                    return item
                }
                let response = try await app.send("POST", "/feedback", .array(sent), by: .role(.sender))
                #expect(response.json["unregistered"] == 3 && response.json["unknown"] == 3, "\(response.text)")
                #expect(try await app.counts(of: message) == MessageNumbers(targeted: 6, failed: 3))
                for name in names.prefix(3) {
                    _ = try await app.send("PUT", "/installations/\(name)/tokens/voip/-", ["token": voip(name)])
                }
            }
        }

        @Test func accepted_countsReceipts_andRecordedTargets() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b", "c"] { _ = try await app.put(name) }
            try await app.putMessage("plain")
            try await app.putMessage("sale", ["record": true])
            let plain = try await app.receipts(of: "plain")
            let receipts = try await app.receipts(of: "sale")
            let lines: [JSON] = [
                ["receipt": .string(receipts["a"] ?? "")], ["receipt": .string(receipts["a"] ?? "")],
                ["installId": "a"], ["installId": "b"], ["installId": "nobody"],
                ["receipt": .string(plain["a"] ?? "")], ["receipt": "x"], [:],
            ]
            func accept(_ message: String, _ lines: [JSON]) async throws -> JSON {
                var request = app.request(
                    "POST", "/messages/\(message)/accepted", nil, by: .role(.sender),
                    fields: [("Content-Type", "application/x-ndjson")])
                request.body = Array((lines.map(\.text).joined(separator: "\n") + "\nnot JSON\n").utf8)
                return try await app.registry.client.response(to: request).json
            }
            let result = try await accept("sale", lines)
            let names = ["received", "accepted", "duplicate", "unknown", "invalid"]
            #expect(names.map { result[$0] } == [9, 2, 2, 1, 4])
            let faults = result["errors"].array.map { "\($0["index"].integer ?? -1) \($0["pointer"].string ?? "")" }
            #expect(faults == ["5 /receipt", "6 /receipt", "7 ", "8 "], "\(result)")
            let unrecorded = try await accept("plain", [["installId": "a"]])
            #expect(names.map { unrecorded[$0] } == [2, 0, 0, 1, 1])
            #expect(try await app.counts(of: "sale") == MessageNumbers(targeted: 3, accepted: 2))
        }

        /// As for feedback.
        @Test func accepted_isReadByItsFirstCharacter_withoutContentType() async throws {
            let app = try await RegistryApp.make()
            try await app.putMessage("sale")
            for (text, status, invalid) in [
                (#"[{"installId":"a"},{"instalId":"a"}]"#, 200, 1), ("{\"installId\":\"a\"}\n7", 200, 1),
                ("hello", 400, 0), ("", 400, 0),
            ] {
                var request = app.request("POST", "/messages/sale/accepted", nil, by: .role(.sender))
                request.body = Array(text.utf8)
                let response = try await app.registry.client.response(to: request)
                #expect(response.status == status && response.json["invalid"].integer ?? 0 == invalid, "\(text)")
                #expect(response.json["unknown"].integer ?? 0 == invalid, "\(text): \(response.text)")
            }
        }

        @Test func breakdown_usesTheCellWhenHandedOut_andHidesSmallGroupsFromMarketing() async throws {
            let app = try await RegistryApp.make(policy: ["smallestGroup": 2])
            try await app.register([
                ("a", ["locale": "de_DE"]), ("b", ["locale": "de_DE"]), ("c", ["locale": "fr_FR"]),
                ("d", ["locale": "it_IT", "systemVersion": "17.0"]),
            ])
            try await app.putMessage("sale")
            let receipts = try await app.receipts(of: "sale")
            _ = try await app.put("a", SampleRegistration.make("a", device: SampleRegistration.device("a")))
            #expect(try await app.report("opened", receipts["d"]) == "accepted")
            func breakdown(_ by: JSON, _ role: RegistryApp.Role) async throws -> JSON {
                try await app.send("POST", "/messages/sale/breakdown", ["by": by], by: .role(role)).json
            }
            let whole = try await breakdown(["locale"], .sender)
            #expect(whole["groups"].array.map { $0["locale"] } == ["de_DE", "fr_FR", "it_IT"])
            #expect(whole["groups"].array.map { $0["targeted"] } == [2, 1, 1] && whole["rest"]["groups"] == 0)
            #expect(MessageNumbers(whole["groups"][2]) == MessageNumbers(targeted: 1, delivered: 1, opened: 1))
            let hidden = try await breakdown(["locale"], .marketing)
            #expect(hidden["groups"].array.map { $0["locale"] } == ["de_DE"])
            #expect(hidden["rest"]["groups"] == 2 && MessageNumbers(hidden["rest"]).numbers[0] == 2)
            let three = try await breakdown(["provider", "osVersion", "authorizationStatus"], .sender)
            #expect(three["groups"].array.map { $0["osVersion"] } == ["26.5", "17.0"])
            #expect(three["groups"][0]["provider"] == "apns")
            for body: JSON in [
                ["by": []], ["by": ["carrier"]], ["by": ["locale"], "limit": 0], ["by": ["locale"], "x": 1],
            ] {
                let response = try await app.send("POST", "/messages/sale/breakdown", body, by: .role(.sender))
                #expect(response.status == 400, "\(body.text)")
            }
        }

        @Test func undelivered_streamsInstallationsWithoutADelivery_andIsResumable() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b", "c", "d"] { _ = try await app.put(name, as: "user-\(name)") }
            try await app.putMessage("alarm", ["record": true])
            let receipts = try await app.receipts(of: "alarm")
            #expect(try await app.report("delivered", receipts["a"]) == "accepted")
            #expect(try await app.delete("b").status == 204)
            _ = try await app.put("c", as: "stranger")
            func undelivered(_ query: String) async throws -> [JSON] {
                let response = try await app.send("GET", "/messages/alarm/undelivered?\(query)")
                #expect(response.status == 200, "\(response.text)")
                return try response.body.split(separator: UInt8(ascii: "\n")).map { try JSON(parsing: $0) }
            }
            #expect(try await undelivered("after=PT15M").isEmpty)
            let rows = try await undelivered("after=PT0S")
            let byID = Dictionary(uniqueKeysWithValues: rows.map { ($0["installId"].string ?? "", $0) })
            #expect(Set(byID.keys) == ["b", "c", "d"])
            #expect(byID["b"]?["state"] == "deleted" && byID["b"]?["userId"] == "user-b")
            // The user when the message was handed out, and not the user who has the phone now.
            #expect(byID["c"]?["state"] == "active" && byID["c"]?["userId"] == "user-c")
            let cursor = try #require(rows[0]["cursor"].string)
            #expect(try await undelivered("after=PT0S&cursor=\(cursor)") == Array(rows.dropFirst()))
        }

        @Test func erasure_removesTheUsersTargetsAndReceipts_andNothingCountsAgain() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b"] { _ = try await app.put(name, as: "user-\(name)") }
            try await app.putMessage("alarm", ["record": true])
            try await app.putMessage("plain")
            let (alarm, plain) = (try await app.receipts(of: "alarm"), try await app.receipts(of: "plain"))
            for receipt in [alarm["a"], plain["a"]] { #expect(try await app.report("opened", receipt) == "accepted") }
            let receipt = try await app.send("DELETE", "/users/user-a").json
            #expect(receipt["receipts"] == 2 && receipt["targets"] == 1)
            #expect(try await app.report("opened", alarm["a"]) == "duplicate")
            #expect(try await app.report("dismissed", plain["a"]) == "accepted")
            #expect(
                try await app.counts(of: "plain")
                    == MessageNumbers(targeted: 2, delivered: 1, opened: 1, dismissed: 1))
            #expect(try await app.send("GET", "/messages/alarm/undelivered?after=PT0S").text.contains("user-b"))
            let left = try await app.database.count(
                """
                SELECT count(*) FROM receipt JOIN app ON id = app_id
                WHERE identifier = \(app.id) AND user_id = 'user-a'
                """)
            #expect(left == 0)
            let again = try await app.send("DELETE", "/users/user-a").json
            #expect(again["receipts"] == 0 && again["targets"] == 0)
        }

        @Test func targeted_countsInstallations_whenTheMessageIsRecorded() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b"] { _ = try await app.put(name) }
            try await app.putMessage("alarm", ["record": true])
            for _ in 0..<3 { _ = try await app.receipts(of: "alarm") }
            #expect(try await app.counts(of: "alarm") == MessageNumbers(targeted: 2))
        }
    }
}

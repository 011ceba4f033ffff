import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A receipt counts once for each event, from any sender and however often")
    struct ReceiptTests {
        @Test func receipts_areCounted_inTheOrderOfTheirCalls() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b", "c"] { _ = try await app.put(name, as: "user-\(name)") }
            try await app.putMessage("sale", ["title": "Spring sale"])
            let receipts = try await app.receipts(of: "sale")
            #expect(receipts.count == 3 && receipts.values.allSatisfy { $0.utf8.count == 80 })
            #expect(try await app.counts(of: "sale") == MessageNumbers(targeted: 3))

            #expect(try await app.report("delivered", receipts["a"]) == "accepted")
            #expect(try await app.report("delivered", receipts["a"]) == "duplicate")
            #expect(try await app.report("opened", receipts["a"]) == "accepted")
            #expect(try await app.report("opened", receipts["b"]) == "accepted")
            #expect(try await app.report("delivered", receipts["b"]) == "duplicate")
            #expect(try await app.report("dismissed", receipts["b"]) == "accepted")
            #expect(
                try await app.counts(of: "sale")
                    == MessageNumbers(targeted: 3, delivered: 2, opened: 2, dismissed: 1))
        }

        @Test func receiptsOfOneCall_areCountedInTheirOrder() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("a")
            try await app.putMessage("sale")
            let receipt = JSON.string(try #require(try await app.receipts(of: "sale")["a"]))
            let results = try await app.report([
                ["receipt": receipt, "event": "opened", "action": "reply"], ["receipt": receipt, "event": "delivered"],
                ["receipt": receipt, "event": "opened"], ["receipt": receipt, "event": "seen"],
                ["receipt": receipt, "event": "dismissed", "at": "yesterday"], ["receipt": "x", "event": "opened"],
                ["event": "opened"], 3, ["receipt": receipt, "event": "dismissed"],
            ])
            #expect(
                results == [
                    "accepted", "duplicate", "duplicate", "invalid", "invalid", "invalid", "invalid", "invalid",
                    "accepted",
                ])
        }

        @Test func secondReceipt_ofTheSameInstallation_isADuplicate() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("a")
            try await app.putMessage("sale")
            let first = try await app.receipts(of: "sale")["a"]
            let second = try await app.receipts(of: "sale")["a"]
            #expect(first != second)
            #expect(try await app.report("opened", first) == "accepted")
            #expect(try await app.report("opened", second) == "duplicate")
            // Rows that were handed out, and one installation that opened.
            #expect(try await app.counts(of: "sale") == MessageNumbers(targeted: 2, delivered: 1, opened: 1))
        }

        @Test func receipt_countsOnce_when64ClientsSendIt() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("a")
            try await app.putMessage("sale")
            let receipt = try await app.receipts(of: "sale")["a"]
            let results = try await race(64) { number in
                try await app.report(number.isMultiple(of: 2) ? "opened" : "delivered", receipt)
            }
            #expect((1...2).contains(results.count { $0 == "accepted" }))
            #expect(results.allSatisfy { $0 == "accepted" || $0 == "duplicate" })
            #expect(try await app.counts(of: "sale") == MessageNumbers(targeted: 1, delivered: 1, opened: 1))
        }

        @Test func forgedAndForeignReceipts_areInvalid_andTheOthersCount() async throws {
            let (app, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            for one in [app, other] {
                _ = try await one.put("a")
                try await one.putMessage("sale")
            }
            let mine = try #require(try await app.receipts(of: "sale")["a"])
            let theirs = try #require(try await other.receipts(of: "sale")["a"])
            // The header of one app with the content of another.
            let mixed = mine.prefix(10) + theirs.dropFirst(10)
            let forged = String(mine.reversed())
            let items = [String(mixed), forged, String(mine.dropLast()), mine + "A", mine, theirs].map { text -> JSON in
                ["receipt": .string(text), "event": "delivered"]
            }
            #expect(
                try await app.report(items) == ["invalid", "invalid", "invalid", "invalid", "accepted", "accepted"])
            #expect(try await other.counts(of: "sale").numbers[3] == 1)
        }

        @Test func receipt_isAccepted_afterItsKeyWasReplaced() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b"] { _ = try await app.put(name) }
            try await app.putMessage("sale")
            let old = try await app.receipts(of: "sale")
            try await app.rows("INSERT INTO app_signing_key (app_id, number) SELECT id, 2 FROM app WHERE identifier = ")
            let new = try await app.receipts(of: "sale")
            #expect(try await app.report("delivered", old["a"]) == "accepted")
            #expect(try await app.report("delivered", new["a"]) == "duplicate")
            #expect(try await app.report("delivered", new["b"]) == "accepted")
        }

        @Test func receipt_isExpired_afterTheMessage() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("a")
            try await app.putMessage("sale", ["expiresIn": "PT8S"])
            let receipt = try await app.receipts(of: "sale")["a"]
            #expect(try await app.report("delivered", receipt) == "accepted")
            try await eventually("it expires") { try await app.report("delivered", receipt) == "expired" }
            #expect(try await app.report("opened", receipt) == "expired")
            // A forged receipt reveals nothing about its expiry.
            #expect(try await app.report("opened", (receipt ?? "").replacing("A", with: "B")) == "invalid")
            let refused = try await app.ask("export", ["filter": [:], "message": "sale"])
            #expect(refused.status == 409 && refused.code == "message-expired")
            #expect(try await app.counts(of: "sale") == MessageNumbers(targeted: 1, delivered: 1))
        }

        @Test func call_isA400_onlyForTheShapeOfItsBody() async throws {
            let registry = try Registry.shared
            func status(_ text: String, type: String = "text/plain;charset=UTF-8") async throws -> Int {
                var request = HTTPRequest.make("POST", "/v1/receipts", nil, key: nil, fields: [("Content-Type", type)])
                request.body = Array(text.utf8)
                return try await registry.client.response(to: request).status
            }
            for text in ["", "{", "[]", "{}", #"{"receipts": 3}"#, #"{"receipts": []}"#] {
                #expect(try await status(text) == 400, "\(text)")
            }
            let items = { (count: Int) in
                #"{"receipts": ["# + [String](repeating: "{}", count: count).joined(separator: ",") + "]}"
            }
            for type in ["text/plain", "application/json", "application/x-www-form-urlencoded", "nonsense"] {
                #expect(try await status(items(100), type: type) == 200)
            }
            #expect(try await status(items(101)) == 413)
            #expect(try await status(items(1) + String(repeating: " ", count: 33_000)) == 413)
        }

        @Test func pagesOfEveryOrigin_maySendReceipts() async throws {
            let registry = try Registry.shared
            let preflight = try await registry.send(
                "OPTIONS", "/v1/receipts", key: nil,
                fields: [("Origin", "https://shop.example"), ("Access-Control-Request-Method", "POST")])
            #expect(preflight.status == 204 && preflight["Access-Control-Allow-Origin"] == "*")
            for (body, status) in [(["receipts": [[:]]], 200), ([:], 400)] as [(JSON, Int)] {
                let response = try await registry.send(
                    "POST", "/v1/receipts", body, key: "not a key", fields: [("Origin", "https://shop.example")])
                #expect(response.status == status && response["Access-Control-Allow-Origin"] == "*")
            }
        }

        @Test func time_isWithinTheMessage_whateverTheClockOfThePhoneSays() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b"] { _ = try await app.put(name) }
            try await app.putMessage("sale")
            let receipts = try await app.receipts(of: "sale")
            #expect(try await app.report("delivered", receipts["a"], at: "1999-01-01T00:00:00Z") == "accepted")
            #expect(try await app.report("opened", receipts["b"], at: "2099-01-01T00:00:00+02:00") == "accepted")
            let timeline = try await app.send("GET", "/messages/sale/timeline?interval=PT1M", by: .role(.marketing))
            let buckets = timeline.json["buckets"].array
            #expect((1...3).contains(buckets.count))
            #expect(buckets.reduce(0) { $0 + ($1["delivered"].integer ?? 0) } == 2)
            #expect(buckets.reduce(0) { $0 + ($1["opened"].integer ?? 0) } == 1)
        }
    }
}

extension RegistryApp {
    /// Executes SQL that ends with the app's identifier.
    fileprivate func rows(_ sql: PostgresSQL) async throws {
        _ = try await database.rows("\(sql: sql)\(literal: id)")
    }
}

/// With a registry of its own, which has no other clients: nothing but receipts makes it read the keys again.
@Suite("A receipt of a removed key is invalid")
struct RemovedKeyTests {
    @Test func receipt_isInvalid_onceItsKeyIsGone() async throws {
        try await withRegistry(eventLoops: 1) { registry in
            let app = try await RegistryApp.make(in: registry)
            _ = try await app.put("a")
            try await app.putMessage("sale")
            let receipt = try await app.receipts(of: "sale")["a"]
            try await app.rows(
                "INSERT INTO app_signing_key (app_id, number) SELECT id, 2 FROM app WHERE identifier = ")
            #expect(try await app.report("delivered", receipt) == "accepted")
            try await app.rows(
                "DELETE FROM app_signing_key k USING app WHERE k.app_id = id AND number = 1 AND identifier = ")
            try await eventually("the key is gone") { try await app.report("delivered", receipt) == "invalid" }
        }
    }
}

/// With a registry of its own: all tests have one address.
@Suite("Receipts are limited for each address", .serialized)
struct ReceiptLimitTests {
    @Test func address_isRefused_beyondItsBurst() async throws {
        let environment = ["PUSH_REGISTRY_RECEIPT_RATE": "1", "PUSH_REGISTRY_RECEIPT_BURST": "5"]
        try await withRegistry(eventLoops: 2, environment: environment) { registry in
            var responses: [HTTPResponse] = []
            for _ in 0..<12 {
                responses.append(try await registry.send("POST", "/v1/receipts", ["receipts": [[:]]], key: nil))
            }
            #expect(responses.prefix(5).allSatisfy { $0.status == 200 })
            let refused = try #require(responses.first { $0.status == 429 })
            #expect(refused.code == "too-many-requests" && refused["Retry-After"] == "1")
            #expect(refused["Access-Control-Allow-Origin"] == "*")
        }
    }
}

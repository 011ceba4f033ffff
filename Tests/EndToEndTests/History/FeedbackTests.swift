import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Feedback affects only the registration that it is about (R9)")
    struct FeedbackTests {
        @Test func deadToken_isUnregistered_untilTheNextRegistration() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            try await app.waitTwoDays()
            let response = try await app.feedback([.dead("phone")])
            #expect(response.status == 200 && response.counts == ["received": 1, "unregistered": 1])
            let record = try await app.get("phone").json
            #expect(record["state"] == "unregistered" && record["reachable"] == false)
            #expect(try await app.feedback([.dead("phone")]).counts == ["received": 1, "ignored": 1])
            #expect(try await app.put("phone", as: "alice").json["state"] == "active")
            try await app.expectCompleteHistory()
        }

        /// Sixteen senders report verdicts from before sixteen rounds of registrations, concurrently with these.
        @Test func lateFeedback_neverAffectsANewRegistration_whenBothRace() async throws {
            let app = try await RegistryApp.make()
            for number in 0..<16 { _ = try await app.put("phone-\(number)", as: "alice") }
            try await app.waitTwoDays()
            let sentAt = try await app.now()
            let statuses = try await race(32) { number in
                if number.isMultiple(of: 2) { return try await app.put("phone-\(number / 2)", as: "bob").status }
                let items = (0..<16).map { number in
                    var item = JSON.dead("phone-\(number)")
                    item["timestamp"] = .string(sentAt)
                    return item
                }
                return try await app.feedback(items.shuffled()).status
            }
            #expect(statuses.allSatisfy { $0 == 200 })
            for number in 0..<16 {
                let record = try await app.get("phone-\(number)").json
                #expect(record["state"] == "active" && record["userId"] == "bob")
            }
            try await app.expectCompleteHistory()
        }

        @Test func invalidItems_areReportedByIndex_andTheOthersAreApplied() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone")
            try await app.waitTwoDays()
            let response = try await app.feedback([["reason": "x"], .dead("phone"), .dead("nobody"), 7])
            #expect(
                response.counts == ["received": 4, "unregistered": 1, "unknown": 1, "invalid": 2])
            let errors = response.json["errors"].array
            #expect(errors.map { $0["index"] } == [0, 3] && errors.map { $0["pointer"] } == ["/token", ""])
        }

        @Test func reasonsOutsideTheTable_areListed() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone")
            var items = [JSON.dead("phone"), .dead("phone"), .dead("phone")]
            items[0]["reason"] = "TooManyRequests"
            items[1]["reason"] = 429
            items[2]["reason"] = "TooManyRequests"
            let response = try await app.feedback(items)
            #expect(response.counts == ["received": 3, "ignored": 3])
            #expect(response.json["ignoredReasons"] == ["TooManyRequests": 2, "429": 1])
            #expect(try await app.feedback([]).json["ignoredReasons"] == [:])
        }

        @Test func body_isRefused_whenItIsTooLongOrNotAList() async throws {
            let app = try await RegistryApp.make()
            let items = Array(repeating: JSON.dead("phone"), count: 10_001)
            let tooMany = try await app.feedback(items)
            #expect(tooMany.status == 413 && tooMany.code == "too-many-items")
            #expect(try await app.send("POST", "/feedback", 7).status == 400)
        }
    }
}

extension JSON {
    /// APNs reports the installation's token as dead.
    static func dead(_ installID: String) -> JSON {
        ["token": .string(SampleRegistration.token(installID)), "provider": "apns", "reason": "Unregistered"]
    }
}

extension HTTPResponse {
    /// The numbers of the response that are not zero.
    var counts: [String: Int64] {
        json.object.compactMapValues(\.integer).filter { $0.value != 0 }
    }
}

extension RegistryApp {
    func feedback(_ items: [JSON]) async throws -> HTTPResponse {
        try await send("POST", "/feedback", .array(items), by: .role(.sender))
    }

    /// Sets the app's installations back by two days.
    func waitTwoDays() async throws { try await age(by: "2 days") }

    /// The database's time, as RFC 3339.
    func now() async throws -> String {
        try await database.column(
            #"SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"#)[0]
    }
}

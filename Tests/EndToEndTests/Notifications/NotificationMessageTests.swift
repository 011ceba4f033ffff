import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A notification may belong to a message, which counts its installations (fine print 60, 73, 80)")
    struct NotificationMessageTests {
        @Test func eachEntry_hasAReceipt_andCountsOnce() async throws {
            let app = try await RegistryApp.make()
            for phone in ["one", "two"] { try await app.phone(phone, as: "alice") }
            try await app.putMessage("campaign")
            for _ in 0..<2 {
                let response = try await app.post(to: ["userId": "alice"], "x", ["message": "campaign"])
                let receipts = response.json["notifications"].array.compactMap { $0["receipt"].string }
                #expect(Set(receipts).count == 2 && receipts.allSatisfy { $0.utf8.count <= 80 })
                _ = try await app.report("delivered", receipts[0])
            }
            #expect(try await app.counts(of: "campaign") == MessageNumbers(targeted: 2, delivered: 1))
        }

        @Test func repeatedPost_hasTheSameReceipt_andMovesNoCount() async throws {
            let app = try await RegistryApp.make()
            try await app.phone(as: "alice")
            try await app.putMessage("campaign")
            let more: [String: JSON] = ["message": "campaign", "dedupId": "d"]
            let first = try await app.post(toPhone: "phone", "x", more)
            #expect(first["receipt"].string != nil)
            #expect(try await app.post(toPhone: "phone", "x", more) == first)
            #expect(try await app.counts(of: "campaign") == MessageNumbers(targeted: 1))
        }

        @Test func recordedMessage_storesItsTargets() async throws {
            let app = try await RegistryApp.make()
            try await app.phone(as: "alice")
            try await app.putMessage("campaign", ["record": true])
            try await app.post(toPhone: "phone", "x", ["message": "campaign"])
            let rows = try await app.send("GET", "/messages/campaign/undelivered?after=PT0S", by: .role(.service))
            #expect(rows.status == 200 && rows.text.contains(#""installId":"phone""#), "\(rows.text)")
            #expect(rows.text.contains(#""userId":"alice""#))
        }

        @Test func unknownOrExpiredMessage_isRefused() async throws {
            let app = try await RegistryApp.make()
            try await app.phone()
            let unknown = try await app.post(to: ["installId": "phone"], "x", ["message": "nothing"])
            #expect(unknown.status == 400 && unknown.json["errors"][0]["pointer"] == "/message")
            try await app.putMessage("campaign")
            _ = try await app.database.rows(
                """
                UPDATE message
                SET created_at = \(sql: .earlier("created_at", by: "8 days")),
                    expires_at = \(sql: .earlier("expires_at", by: "8 days"))
                WHERE app_id = \(try await app.number())
                """)
            let expired = try await app.post(to: ["installId": "phone"], "x", ["message": "campaign"])
            #expect(expired.status == 409 && expired.json["code"] == "message-expired")
            #expect(try await app.notificationRows() == 0)
        }
    }
}

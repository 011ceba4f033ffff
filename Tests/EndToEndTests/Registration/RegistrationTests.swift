import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A registration is a complete, idempotent PUT (R2)")
    struct RegistrationTests {
        @Test func put_writesNothing_whenBodyIsTheSame() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let before = try await app.rowVersion("phone")
            for _ in 1...3 { _ = try await app.put("phone", as: "alice") }
            #expect(try await app.rowVersion("phone") == before)
            #expect(try await app.events(of: "phone").count == 1)
        }

        @Test func put_replacesEverything_whenMembersAreOmitted() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            var body = SampleRegistration.make("phone").without("settings")
            for name in ["carrier", "location", "languages"] { body["device"] = body["device"].without(name) }
            #expect(try await app.put("phone", body, as: "alice").json["status"] == "updated")
            let record = try await app.get("phone").json
            #expect(record["settings"]["authorizationStatus"] == "unknown")
            #expect(record["device"]["carrier"] == .null)
            #expect(record["device"]["location"] == .null)
            #expect(record["device"]["languages"] == [])
        }

        @Test func record_hasTheSentValues_forAService() async throws {
            let app = try await RegistryApp.make()
            let body = SampleRegistration.make("phone")
            let response = try await app.put("phone", body, as: "alice", session: "s1")
            let record = try await app.get("phone")
            #expect(record["ETag"] == response["ETag"])
            #expect(record.json["settings"] == body["settings"])
            #expect(record.json["device"].without("advertisingId") == body["device"])
            #expect(record.json["token"] == body["token"])
            #expect(record.json["userId"] == "alice")
            #expect(record.json["sessionId"] == "s1")
            #expect(record.json["reachable"] == true)
        }

        @Test func put_updatesLastSeenAt_whenItIsOlderThanTheTouchInterval() async throws {
            let app = try await RegistryApp.make(policy: ["touchInterval": "PT1H"])
            let first = try await app.put("phone", as: "alice")
            try await app.update(
                "phone", "last_seen_at = \(sql: .earlier("last_seen_at", by: "61 minutes"))")
            let old = try await app.get("phone").json["lastSeenAt"]
            let second = try await app.put("phone", as: "alice")
            #expect(second.json["status"] == "unchanged")
            #expect(second.generation == first.generation)
            let record = try await app.get("phone").json
            #expect(record["lastSeenAt"].string ?? "" > old.string ?? "~")
            #expect(try await app.events(of: "phone").count == 1)
        }

        @Test func registerAgainBefore_isTheProvidersStaleness_afterLastSeenAt() async throws {
            let app = try await RegistryApp.make(policy: ["staleAfter": ["apns": "P10D"]])
            let response = try await app.put("phone")
            let days = try await app.database.column(
                """
                SELECT extract(epoch FROM \(response.json["registerAgainBefore"].string)::text::timestamptz
                    - last_seen_at)::bigint / 86400
                FROM installation JOIN app ON app.id = app_id WHERE identifier = \(app.id)
                """, as: Int64.self)
            #expect(days == [10])
        }

        /// A registration with an older JWT of the session arrives late.
        @Test func put_keepsTheLaterExpiry_ofTwoJWTs_withoutANewGeneration() async throws {
            var policy = UserJWT.policy
            policy["sessionExpiryClaim"] = "session_exp"
            let app = try await RegistryApp.make(policy: policy)
            let now = Int(Date().timeIntervalSince1970)
            func put(_ expiry: Int, version: String = "26.5") async throws -> JSON {
                let claims = #"{"sub":"alice","sid":"s1","iat":\#(now),"exp":\#(now + 900),"session_exp":\#(expiry)}"#
                var body = SampleRegistration.make("phone")
                body["device"]["systemVersion"] = .string(version)
                return try await app.put("phone", body, by: UserJWT.make(claims: claims)).json
            }
            let (early, late) = (1_893_456_000, 1_924_992_000)
            let (first, second) = (try await put(early), try await put(late))
            #expect(first["status"] == "created" && second["status"] == "updated")
            #expect(second["generation"] == first["generation"])
            #expect(try await put(early)["status"] == "unchanged")
            #expect(try await put(early, version: "26.6")["status"] == "updated")
            #expect(try await put(late, version: "26.6")["status"] == "unchanged")
            let expiry = try await app.get("phone").json["sessionExpiresAt"].string
            #expect(expiry?.hasPrefix("2031-01-01T00:00:00") == true, "\(expiry ?? "none")")
        }
    }
}

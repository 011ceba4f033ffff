import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A delivery key beside the publishable key keeps the owner, and logs out (fine print 10, 15)")
    struct DeliveryKeyTests {
        private static let client = RegistryApp.Credential.role(.client)

        @Test func deliveryKey_keepsOwnerAndSession_whenItRotatesTheToken() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            try await app.putTopic("news", isIn: true)
            _ = try await app.choose(["news": false], user: "alice")
            let alice = UserJWT.make("alice", session: "s1")
            let first = try await app.put("phone", by: alice)
            let rotated = try await app.putByKey("phone", Self.rotated, first.deliveryKey)
            #expect(rotated.status == 200 && rotated.json["status"] == "updated", "\(rotated.text)")
            #expect(rotated.json["userId"] == .null)
            #expect(rotated.deliveryKey == first.deliveryKey && rotated.json["epoch"] == first.json["epoch"])
            #expect(rotated.generation == first.generation.map { $0 + 1 })
            let record = try await app.get("phone").json
            #expect(record["userId"] == "alice" && record["sessionId"] == "s1" && record["state"] == "active")
            #expect(record["token"] == Self.rotated["token"])
            let event = try #require(try await app.events(of: "phone").last)
            #expect(event.event == "rotated" && event.userID == "alice")
            #expect(try await app.choices(of: "phone") == app.userChoices("alice"))
            try await app.expectIntact()
            #expect(try await app.putByKey("phone", Self.rotated, first.deliveryKey).json["status"] == "unchanged")
            #expect(try await app.put("phone", Self.rotated, by: alice).json["status"] == "unchanged")
            // Neither the publishable key alone nor a service gets the worker's registration for its own.
            #expect(try await app.put("phone", Self.rotated).json["status"] == "updated")
            #expect(try await app.get("phone").json["userId"] == .null)
            try await app.expectCompleteHistory()
        }

        @Test func snapshotByDeliveryKey_isTheOwners() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let first = try await app.put("phone", as: "alice")
            #expect(try await app.putByKey("phone", Self.rotated, first.deliveryKey).status == 200)
            _ = try await app.put("phone", as: "bob")
            #expect(try await app.send("DELETE", "/users/alice").json["snapshots"] == 2)
        }

        @Test func publishableKeyAlone_needsTheToken() async throws {
            let app = try await RegistryApp.make()
            let owned = try await app.put("phone", as: "alice")
            let refused = try await app.put("phone", Self.rotated, by: Self.client)
            #expect(refused.status == 403 && refused.code == "owned-installation", "\(refused.text)")
            #expect(refused["ETag"] == nil && refused.json["generation"] == .null)
            #expect(try await app.put("phone", Self.rotated, ifMatch: "\"1\"", by: Self.client).status == 403)
            #expect(try await app.get("phone").json["userId"] == "alice")
            let held = try await app.put("phone", by: Self.client)
            #expect(held.json["status"] == "updated" && held.json["userId"] == .null)
            #expect(held.deliveryKey != owned.deliveryKey)
            #expect(try await app.get("phone").json["userId"] == .null)
        }

        @Test func otherDeliveryKey_isRefused_whateverTheToken() async throws {
            let app = try await RegistryApp.make()
            let ended = try await app.put("phone", as: "bob").deliveryKey
            let other = try await app.put("other", as: "alice").deliveryKey
            _ = try await app.put("phone", as: "alice")
            for key in [ended, other, "prd_AAAA", "x", ""] {
                for body in [SampleRegistration.make("phone"), Self.rotated] {
                    let response = try await app.putByKey("phone", body, key)
                    #expect(response.status == 403 && response.code == "owned-installation", "\(key): \(response.text)")
                }
            }
            #expect(try await app.putByKey("unknown", nil, ended).status == 403)
            #expect(try await app.get("unknown").status == 404)
            #expect(try await app.get("phone").json["userId"] == "alice")
            // Other callers name the owner themselves: the field means nothing.
            let fields = [("X-Delivery-Key", ended), ("X-User-Id", "carol")]
            let service = try await app.send("PUT", "/installations/phone", Self.rotated, fields: fields)
            #expect(service.status == 200 && service.json["userId"] == "carol")
        }

        @Test func supersededInstallation_isFree() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("old", as: "alice")
            let token = SampleRegistration.token("old")
            _ = try await app.put("new", SampleRegistration.make("new", token: token), as: "alice")
            #expect(try await app.get("old").json["state"] == "superseded")
            let body = SampleRegistration.make("old", token: SampleRegistration.token("another"))
            let response = try await app.put("old", body, by: Self.client)
            #expect(response.status == 200 && response.json["userId"] == .null, "\(response.text)")
        }

        @Test func deliveryKey_ends_withTheSession() async throws {
            let app = try await RegistryApp.make()
            let fields = [
                ("X-User-Id", "alice"), ("X-Session-Id", "s1"), ("X-Session-Expires-At", "2099-01-01T00:00:00Z"),
            ]
            let body = SampleRegistration.make("phone")
            let key = try await app.send("PUT", "/installations/phone", body, fields: fields).deliveryKey
            #expect(try await app.putByKey("phone", Self.rotated, key).status == 200)
            try await app.update(
                "phone", "session_expires_at = now() - interval '1 second', revision = revision + 1")
            #expect(try await app.putByKey("phone", Self.rotated, key).code == "owned-installation")
            #expect(try await app.logOutByKey("phone", key).status == 403)
            #expect(try await app.get("phone").json["userId"] == "alice")
        }

        @Test func publishableKey_logsOut_onlyWithThePresentDeliveryKey() async throws {
            let app = try await RegistryApp.make()
            let ended = try await app.put("phone", as: "bob").deliveryKey
            let owned = try await app.put("phone", as: "alice")
            let generation = try #require(owned.generation)
            for (phone, key): (String, String?) in [
                ("phone", nil), ("phone", ended), ("phone", "x"), ("unknown", nil),
            ] {
                for ifMatch in [nil, "*", "\"\(generation)\""] {
                    let response = try await app.logOutByKey(phone, key, ifMatch: ifMatch)
                    #expect(response.status == 403 && response["ETag"] == nil, "\(response.text)")
                    #expect(response.json["generation"] == .null && response.code == "forbidden")
                }
            }
            let outdated = try await app.logOutByKey("phone", owned.deliveryKey, ifMatch: "\"1\"")
            #expect(outdated.json == ["status": "outdated"], "\(outdated.text)")
            let response = try await app.logOutByKey("phone", owned.deliveryKey)
            #expect(response.json["status"] == "loggedOut", "\(response.text)")
            #expect(try await app.get("phone").json["state"] == "loggedOut")
            #expect(try await app.logOutByKey("phone", owned.deliveryKey).status == 403)
        }

        /// A delayed logout of the worker does not close what is anonymous since.
        @Test func endedKey_logsNobodyOut() async throws {
            let app = try await RegistryApp.make()
            let ended = try await app.put("phone", as: "alice").deliveryKey
            let present = try await app.put("phone", by: Self.client).deliveryKey
            #expect(try await app.logOutByKey("phone", ended).status == 403)
            #expect(try await app.get("phone").json["state"] == "active")
            #expect(try await app.logOutByKey("unknown", present).status == 403)
            #expect(try await app.logOutByKey("phone", present).json["status"] == "loggedOut")
        }

        /// Whatever order: the owner that the key belongs to stays, or the next one.
        @Test func rotation_neverTakesThePhoneFromItsNextOwner_whenBothRace() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            for round in 0..<10 {
                let phone = "phone-\(round)"
                let key = try await app.put(phone, as: "alice").deliveryKey
                let statuses = try await race(8) { number in
                    if number == 3 { return try await app.put(phone, as: "bob").status }
                    let token = SampleRegistration.token("\(round) \(number)")
                    return try await app.putByKey(phone, SampleRegistration.make(phone, token: token), key).status
                }
                #expect(Set(statuses).isSubset(of: [200, 403]), "\(statuses)")
                #expect(try await app.get(phone).json["userId"] == "bob")
            }
            try await app.expectCompleteHistory()
        }

        @Test func pages_maySendTheField() async throws {
            let app = try await RegistryApp.make(policy: ["allowedOrigins": ["https://shop.example"]])
            let preflight = try await app.send(
                "OPTIONS", "/installations/phone", by: .none,
                fields: [("Origin", "https://shop.example"), ("Access-Control-Request-Method", "PUT")])
            #expect(preflight["Access-Control-Allow-Headers"]?.contains("X-Delivery-Key") == true)
        }

        private static let rotated: JSON = {
            var body = SampleRegistration.make("phone", token: SampleRegistration.token("rotated"))
            body["device"]["appVersion"] = "1.5.0"
            return body
        }()
    }
}

extension RegistryApp {
    fileprivate func putByKey(_ installID: String, _ body: JSON? = nil, _ key: String) async throws -> HTTPResponse {
        try await send(
            "PUT", "/installations/\(installID)", body ?? SampleRegistration.make(installID), by: .role(.client),
            fields: [("X-Delivery-Key", key)])
    }

    fileprivate func logOutByKey(
        _ installID: String, _ key: String?, ifMatch: String? = nil
    ) async throws -> HTTPResponse {
        try await send(
            "POST", "/installations/\(installID)/logout", [:], by: .role(.client),
            fields: [("X-Delivery-Key", key), ("If-Match", ifMatch)].compactMap { name, value in
                value.map { (name, $0) }
            })
    }
}

extension HTTPResponse {
    fileprivate var deliveryKey: String { json["deliveryKey"].string ?? "" }
}

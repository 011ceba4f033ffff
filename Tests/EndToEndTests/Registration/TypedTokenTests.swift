import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("An installation has tokens beside its main one (fine print 116 to 120)")
    struct TypedTokenTests {
        // MARK: Registrations

        @Test func tokens_replaceTheSet_andStayIfAbsent() async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("phone", .tokens([.voip("a"), .activity("one")]), as: "alice")
            #expect(first.status == 201 && first.json["expired"] == 0, "\(first.text)")
            let shown = try await app.get("phone").json["tokens"].array
            #expect(shown.map { $0["kind"].string } == ["liveActivity", "voip"])
            #expect(
                shown[1] == [
                    "kind": "voip", "name": nil, "token": .string(Self.token("a")), "environment": "production",
                    "expiresAt": nil,
                ])
            #expect(shown[0]["name"] == "one" && shown[0]["expiresAt"].string != nil)
            let same = try await app.put("phone", .tokens([.activity("one"), .voip("a")]), as: "alice")
            #expect(same.json["status"] == "unchanged" && same.json["expired"] == 0)
            let without = try await app.put("phone", as: "alice")
            #expect(without.json["status"] == "unchanged" && without.json["expired"] == .null)
            let fewer = try await app.put("phone", .tokens([.voip("a")]), as: "alice")
            #expect(fewer.json["status"] == "updated" && fewer.generation == first.generation)
            #expect(try await app.kinds("phone") == ["voip"])
            #expect(try await app.put("phone", .tokens([]), as: "alice").json["status"] == "updated")
            #expect(try await app.kinds("phone") == [])
            #expect(try await app.events(of: "phone").count == 1)
            try await app.expectIntact()
        }

        @Test func token_isKeptInLowerCase_andInItsEnvironment() async throws {
            let app = try await RegistryApp.make()
            var sandbox = SampleRegistration.make("phone", provider: "apnsSandbox")
            sandbox["tokens"] = [["kind": "widget", "token": "AABBCCDDEEFF0011"]]
            #expect(try await app.put("phone", sandbox).status == 201)
            let shown = try await app.get("phone").json["tokens"][0]
            #expect(shown["token"] == "aabbccddeeff0011" && shown["environment"] == "sandbox")
            sandbox["tokens"] = [["kind": "widget", "token": "aabbccddeeff0011", "environment": "production"]]
            #expect(try await app.put("phone", sandbox).json["status"] == "updated")
            #expect(try await app.get("phone").json["tokens"][0]["environment"] == "production")
        }

        private static let faults: [(tokens: JSON, faults: [String])] = [
            ([["kind": "watch", "token": "aabbccddeeff0011"]], ["/tokens/0/kind unknown-token-kind"]),
            (
                [["kind": "voip"], ["token": 1]],
                [
                    "/tokens/0/token required", "/tokens/1/kind required", "/tokens/1/token wrong-type",
                ]
            ),
            ([["kind": "voip", "token": "xyz"]], ["/tokens/0/token invalid-token"]),
            ([.activity(nil)], ["/tokens/0/name required"]),
            (
                [.voip("a", name: "-"), .voip("b", name: "."), .voip("c", name: "..")],
                [
                    "/tokens/0/name invalid-token-name", "/tokens/1/name invalid-token-name",
                    "/tokens/2/name invalid-token-name",
                ]
            ),
            (
                [.voip("a", name: ""), .voip("b", name: "a b")],
                [
                    "/tokens/0/name invalid-token-name", "/tokens/1/name invalid-token-name",
                ]
            ),
            ([.voip("a", name: String(repeating: "x", count: 129))], ["/tokens/0/name invalid-token-name"]),
            ([.voip("a", ["environment": "test"])], ["/tokens/0/environment unknown-environment"]),
            ([.voip("a", ["expiresAt": "tomorrow"])], ["/tokens/0/expiresAt invalid-time"]),
            ([.voip("a", ["expiresAt": .string(time(days: 401))])], ["/tokens/0/expiresAt out-of-range"]),
            ([.voip("a", name: "n"), .voip("b", name: "n")], ["/tokens/1 duplicate-token"]),
            (.array((0..<17).map { .voip("a\($0)", name: "n\($0)") }), ["/tokens too-many"]),
            ("voip", ["/tokens wrong-type"]), ([1], ["/tokens/0 wrong-type"]),
        ]

        @Test func registration_namesEveryFault() async throws {
            let app = try await RegistryApp.make()
            for (tokens, faults) in Self.faults {
                let response = try await app.put("phone", .tokens(tokens))
                #expect(response.status == 400 && response.faults == faults, "\(response.text)")
            }
        }

        @Test func otherProvider_hasNoTokens_andMaySendNone() async throws {
            let app = try await RegistryApp.make()
            var body = SampleRegistration.make("phone", provider: "fcm")
            body["tokens"] = []
            #expect(try await app.put("phone", body).status == 201)
            body["tokens"] = [.voip("a")]
            #expect(try await app.put("phone", body).faults == ["/tokens wrong-provider"])
            _ = try await app.put("phone", .tokens([.voip("a")]))
            #expect(try await app.put("phone", SampleRegistration.make("phone", provider: "fcm")).status == 200)
            _ = try await app.put("phone")
            #expect(try await app.kinds("phone") == [])
        }

        @Test func pastToken_isLeftOutAndCounted() async throws {
            let app = try await RegistryApp.make()
            let past = JSON.voip("a", ["expiresAt": .string(Self.time(days: -1))])
            let body = JSON.tokens([past, .voip("b", name: "b")])
            let first = try await app.put("phone", body)
            #expect(first.status == 201 && first.json["expired"] == 1)
            let again = try await app.put("phone", body)
            #expect(again.json["status"] == "unchanged" && again.json["expired"] == 1)
            #expect(try await app.get("phone").json["tokens"].array.map { $0["name"] } == ["b"])
        }

        /// No job runs.
        @Test func token_isAbsentFromTheSecondItExpires() async throws {
            let app = try await RegistryApp.make()
            let ends = Self.time(seconds: 2)
            let body = JSON.tokens([.voip("a", ["expiresAt": .string(ends)]), .voip("b", name: "b")])
            #expect(try await app.put("phone", body).json["expired"] == 0)
            try await eventually { try await app.kinds("phone") == ["voip"] }
            let again = try await app.put("phone", body)
            #expect(again.json["status"] == "updated" && again.json["expired"] == 1)
            #expect(try await app.put("phone", body).json["status"] == "unchanged")
        }

        @Test func tokens_ofEveryKind_expireByTheirKind_unlessTheAppSaysWhen() async throws {
            let app = try await RegistryApp.make()
            let hours: [String: Double] = ["liveActivity": 12, "liveActivityStart": 90 * 24]
            let kinds = [
                "complication", "fileProvider", "liveActivity", "liveActivityStart", "location", "pushToTalk", "voip",
                "widget",
            ]
            let body = JSON.tokens(.array(kinds.map { .token($0, $0, name: "n") }))
            let sent = Date.now
            #expect(try await app.put("phone", body).status == 201)
            let tokens = try await app.get("phone").json["tokens"]
            #expect(tokens.array.compactMap { $0["kind"].string }.sorted() == kinds)
            for token in tokens.array {
                let seconds = try token["expiresAt"].string.map {
                    try Date($0.prefix(19) + "Z", strategy: .iso8601).timeIntervalSince(sent)
                }
                let expected = hours[token["kind"].string ?? ""].map { $0 * 3_600 }
                #expect((seconds == nil) == (expected == nil), "\(token)")
                if let seconds, let expected { #expect(abs(seconds - expected) < 120, "\(token)") }
            }
            #expect(try await app.put("phone", body).json["status"] == "unchanged")
            #expect(try await app.get("phone").json["tokens"] == tokens)
        }

        // MARK: One token

        @Test func oneToken_isAddedReplacedAndRemoved() async throws {
            let app = try await RegistryApp.make()
            let body = JSON.tokens([.voip("a")])
            let first = try await app.put("phone", body, as: "alice")
            let added = try await app.putToken("liveActivity/one", "b")
            #expect(added.status == 200 && added["ETag"] == first["ETag"], "\(added.text)")
            #expect(added.json == ["installId": "phone", "generation": first.json["generation"], "tokens": 2])
            #expect(try await app.putToken("liveActivity/one", "c").json["tokens"] == 2)
            #expect(try await app.putToken("voip/-", "a", ["environment": "sandbox"]).json["tokens"] == 2)
            #expect(try await app.get("phone").json["tokens"][1]["environment"] == "sandbox")
            #expect(try await app.put("phone", body, as: "alice").json["status"] == "updated")
            #expect(try await app.kinds("phone") == ["voip"])
            for _ in 0..<2 { #expect(try await app.deleteToken("voip/-").status == 204) }
            #expect(try await app.kinds("phone") == [])
            #expect(try await app.put("phone", body, as: "alice").json["status"] == "updated")
            #expect(try await app.events(of: "phone").map(\.event) == ["registered"])
            try await app.expectIntact()
        }

        @Test func oneToken_isRefused_withTheWayOut() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            #expect(try await app.putToken("voip/-", "a").status == 404)
            #expect(try await app.deleteToken("voip/-").status == 404)
            _ = try await app.put("phone", as: "alice")
            let odd = try await app.putToken("watch/-", "a")
            #expect(odd.status == 400 && odd.faults == ["kind unknown-token-kind"], "\(odd.text)")
            #expect(try await app.putToken("liveActivity/-", "a").faults == ["name required"])
            #expect(try await app.putToken("voip/a%20b", "a").faults == ["name invalid-token-name"])
            #expect(try await app.putToken("voip/%2E%2E", "a").status == 400)
            let past = try await app.putToken("voip/-", "a", ["expiresAt": .string(Self.time(days: -1))])
            #expect(past.status == 400 && past.faults == ["/expiresAt out-of-range"])
            let far = try await app.putToken("voip/-", "a", ["expiresAt": .string(Self.time(days: 401))])
            #expect(far.faults == ["/expiresAt out-of-range"])
            #expect(try await app.putToken("voip/-", "a", fields: [("If-Match", "\"1\"")]).status == 412)
            #expect(try await app.putToken("voip/-", "a", by: UserJWT.make("bob")).status == 404)
            #expect(try await app.putToken("voip/-", "a", by: .role(.sender)).status == 403)
            #expect(try await app.putToken("voip/-", "a", by: UserJWT.make("alice", age: -10)).status == 200)
            #expect(try await app.kinds("phone") == ["voip"])

            _ = try await app.put(
                "phone", .tokens(.array((0..<16).map { .voip("a\($0)", name: "n\($0)") })), as: "alice")
            let full = try await app.putToken("widget/-", "w")
            #expect(full.status == 409 && full.code == "too-many-tokens", "\(full.text)")
            #expect(try await app.putToken("voip/n1", "w").json["tokens"] == 16)

            _ = try await app.send("POST", "/installations/phone/logout")
            for response in [try await app.putToken("voip/-", "a"), try await app.deleteToken("voip/-")] {
                #expect(response.status == 409 && response.code == "not-active", "\(response.text)")
            }
            _ = try await app.put("fcm", SampleRegistration.make("fcm", provider: "fcm"))
            #expect(try await app.putToken("voip/-", "a", on: "fcm").faults == ["/token wrong-provider"])
        }

        @Test func oneToken_ofAnEndedSession_is401() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let alice = UserJWT.make("alice", session: "s1")
            _ = try await app.put("phone", by: alice)
            #expect(try await app.putToken("voip/-", "a", by: alice).status == 200)
            _ = try await app.send("DELETE", "/sessions/s1")
            let response = try await app.putToken("voip/-", "a", by: alice)
            #expect(response.status == 401 && response.code == "credential-ended")
        }

        @Test func publishableKey_needsTheDeliveryKeyOfAnOwnedInstallation() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.put("phone", as: "alice").json["deliveryKey"].string ?? ""
            let client = RegistryApp.Credential.role(.client)
            for fields in [[], [("X-Delivery-Key", "prd_AAAA")]] {
                let response = try await app.putToken("voip/-", "a", by: client, fields: fields)
                #expect(response.status == 403 && response.code == "owned-installation", "\(response.text)")
            }
            let proof = [("X-Delivery-Key", key)]
            #expect(try await app.putToken("voip/-", "a", by: client, fields: proof).json["tokens"] == 1)
            let stale = try await app.putToken(
                "voip/-", "b", by: client, fields: proof + [("If-Match", "\"1\"")])
            #expect(stale.status == 412 && stale["ETag"] == nil && stale.json["generation"] == .null)
            #expect(try await app.get("phone").json["userId"] == "alice")
            #expect(try await app.deleteToken("voip/-", by: client, fields: proof).status == 204)
            _ = try await app.put("free")
            #expect(try await app.putToken("voip/-", "c", on: "free", by: client).status == 200)
        }

        @Test func oneToken_isNotRemoved_byAnotherCaller_orWithAnOlderGeneration() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            _ = try await app.put("phone", .tokens([.voip("a")]), as: "alice")
            let byKey = try await app.deleteToken("voip/-", by: .role(.client))
            #expect(byKey.status == 403 && byKey.code == "owned-installation")
            #expect(try await app.deleteToken("voip/-", by: UserJWT.make("bob")).status == 404)
            #expect(try await app.deleteToken("voip/-", by: .role(.sender)).status == 403)
            #expect(try await app.deleteToken("voip/-", fields: [("If-Match", "\"1\"")]).status == 412)
            #expect(try await app.kinds("phone") == ["voip"])
        }

        // MARK: One holder

        @Test func token_moves_andTheFormerHolderIsTold() async throws {
            let app = try await RegistryApp.make()
            let start = { (name: String) in JSON.token("liveActivityStart", "s", name: name) }
            let first = try await app.put("phone", .tokens([start("a"), start("b"), .voip("v")]), as: "alice")
            _ = try await app.put("other", .tokens([start("c")], "other"), as: "bob")
            #expect(try await app.kinds("phone") == ["voip"])
            #expect(try await app.kinds("other") == ["liveActivityStart"])
            let event = try #require(try await app.events(of: "phone").last)
            #expect(event.event == "tokenMoved" && event.reason == "liveActivityStart" && event.state == "active")
            #expect(event.generationBefore == first.generation && event.generationAfter == first.generation)
            #expect(event.userID == "alice" && event.previousUserID == "alice")
            let query: JSON = ["token": .string(Self.token("s")), "provider": "apns"]
            let found = try await app.send("POST", "/tokens/history", query).json["events"].array
            #expect(found.map { $0["event"] } == ["tokenMoved"] && found[0]["installId"] == "phone")
            #expect(
                try await app.put("phone", .tokens([start("a"), .voip("v")]), as: "alice").json["status"] == "updated")
            #expect(try await app.kinds("other") == [])
            #expect(try await app.putToken("voip/-", "v", on: "other").json["tokens"] == 1)
            #expect(try await app.kinds("phone") == ["liveActivityStart"])
            let changes = try await app.changes { $0.last?["event"] == "tokenMoved" && $0.last?["reason"] == "voip" }
            #expect(changes.count { $0["event"] == "tokenMoved" } == 3)
            try await app.expectCompleteHistory()
            try await app.expectIntact()
        }

        // MARK: The end of the set

        private static let ends = [
            "logout", "user", "session", "takeover", "owner", "anonymous", "dead", "erase", "delete",
        ]

        @Test(arguments: ends) func set_endsWithItsBinding(by what: String) async throws {
            let app = try await RegistryApp.make()
            let body = JSON.tokens([.voip("a"), .token("widget", "w")])
            _ = try await app.put("phone", body, as: "alice", session: "s1")
            #expect(try await app.tokenCount() == 2)
            switch what {
            case "logout": _ = try await app.send("POST", "/installations/phone/logout")
            case "user": _ = try await app.send("POST", "/users/alice/logout")
            case "session": _ = try await app.send("DELETE", "/sessions/s1")
            case "takeover":
                let token = SampleRegistration.token("phone")
                _ = try await app.put("other", SampleRegistration.make("other", token: token), as: "bob")
            case "owner": _ = try await app.put("phone", as: "bob")
            case "anonymous": _ = try await app.put("phone")
            case "dead":
                try await app.waitTwoDays()
                let verdict: JSON = [["installId": "phone", "reason": "Unregistered"]]
                #expect(try await app.send("POST", "/feedback", verdict).json["unregistered"] == 1)
            case "erase": _ = try await app.send("DELETE", "/users/alice")
            default: _ = try await app.delete("phone")
            }
            #expect(try await app.tokenCount() == 0)
            let again = try await app.put("phone", body, as: "carol")
            #expect(again.json["status"] != "unchanged")
            #expect(try await app.tokenCount() == 2)
            try await app.expectIntact()
        }

        @Test func record_showsTheTextToServices_andTheSetToSupport() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let alice = UserJWT.make("alice")
            _ = try await app.put("phone", .tokens([.voip("a")]), by: alice)
            #expect(try await app.get("phone").json["tokens"][0]["token"] == .string(Self.token("a")))
            let support = try await app.get("phone", by: .role(.support))
            #expect(support.json["tokens"][0]["kind"] == "voip" && !support.text.contains(Self.token("a")))
            #expect(try await app.get("phone", by: alice).json["tokens"] == .null)
        }

        // MARK: Values

        fileprivate static func token(_ name: String) -> String { SampleRegistration.token("typed " + name) }

        private static func time(days: Double = 0, seconds: Double = 0) -> String {
            Date(timeIntervalSinceNow: days * 86_400 + seconds).ISO8601Format()
        }
    }
}

extension JSON {
    /// The body of a registration.
    fileprivate static func tokens(_ tokens: JSON, _ installID: String = "phone") -> JSON {
        var body = SampleRegistration.make(installID)
        body["tokens"] = tokens
        return body
    }

    /// - Parameter text: any text; different texts are different tokens.
    fileprivate static func token(
        _ kind: String, _ text: String, name: String? = nil, _ members: JSON = [:]
    ) -> JSON {
        var token = members
        token["kind"] = .string(kind)
        token["token"] = .string(EndToEnd.TypedTokenTests.token(text))
        if let name { token["name"] = .string(name) }
        return token
    }

    fileprivate static func voip(_ text: String, name: String? = nil, _ members: JSON = [:]) -> JSON {
        .token("voip", text, name: name, members)
    }

    fileprivate static func activity(_ name: String?) -> JSON { .token("liveActivity", name ?? "none", name: name) }
}

extension RegistryApp {
    /// The kinds of an installation's tokens, in order.
    fileprivate func kinds(_ installID: String) async throws -> [String] {
        try await get(installID).json["tokens"].array.compactMap { $0["kind"].string }
    }

    fileprivate func tokenCount() async throws -> Int64 {
        try await database.rows(
            "SELECT count(*) FROM typed_token JOIN app ON app.id = app_id WHERE identifier = \(id)")[0].decode(0)
    }

    fileprivate func putToken(
        _ path: String, _ text: String, _ members: JSON = [:], on installID: String = "phone",
        by credential: Credential = .role(.service), fields: [(String, String)] = []
    ) async throws -> HTTPResponse {
        var body = members
        body["token"] = .string(EndToEnd.TypedTokenTests.token(text))
        return try await send(
            "PUT", "/installations/\(installID)/tokens/\(path)", body, by: credential, fields: fields)
    }

    fileprivate func deleteToken(
        _ path: String, by credential: Credential = .role(.service), fields: [(String, String)] = []
    ) async throws -> HTTPResponse {
        try await send("DELETE", "/installations/phone/tokens/\(path)", by: credential, fields: fields)
    }
}

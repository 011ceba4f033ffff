import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("An app's policy has the members that were set, and defaults")
    struct PolicyTests {
        private static let complete: JSON = [
            "touchInterval": "PT12H",
            "staleAfter": ["apns": "P90D", "apnsSandbox": "P20D", "fcm": "P50D", "huawei": "P40D", "webPush": "P35D"],
            "retention": "P45D", "grace": "P5D", "sessionTombstones": "P100D", "storeAdvertisingId": true,
            "allowedOrigins": ["https://app.example.com", "http://localhost:3000"],
            "jwks": [
                "keys": [
                    ["kty": "oct", "kid": "k1", "alg": "HS256", "k": "c2VjcmV0LW9mLXRoZS1hcHAtb2YtMzItYnl0ZXMhISE"]
                ]
            ],
            "jwksURL": "https://login.example.com/keys",
            "jwtIssuer": "https://login.example.com", "jwtAudience": "mail", "sessionExpiryClaim": "session_exp",
            "allowIncompleteTokens": true,
            "rateLimits": ["perKey": ["rate": 100, "burst": 200], "perAddress": ["rate": 10, "burst": 20]],
            "smallestGroup": 20, "receiptRetention": "P14D", "notificationsMax": 50,
            "installationsPerUser": 3,
            "webPushHosts": ["ntfy.sh", "*.example.org", "localhost:8443"],
            "feedbackBreaker": ["count": 500, "share": 0.1],
            "consoleGroups": ["marketers": "marketing", "a group = \u{1F4E3}": "support"],
        ]

        private static let secret = "c2VjcmV0LW9mLXRoZS1hcHAtb2YtMzItYnl0ZXMhISE"

        private func put(_ app: RegistryApp, _ policy: JSON) async throws -> HTTPResponse {
            try await app.send("PUT", "", policy, by: .role(.admin))
        }

        @Test func app_isCreatedWithDefaults_whenNoMemberIsSet() async throws {
            let app = try await RegistryApp.make()
            let policy = try await app.send("GET", "", by: .role(.admin)).json
            #expect(policy["app"].string == app.id)
            #expect(policy["touchInterval"] == "PT24H" || policy["touchInterval"] == "P1D")
            #expect(policy["staleAfter"]["apnsSandbox"] == "P30D")
            #expect(policy["storeAdvertisingId"] == false)
            #expect(policy["allowedOrigins"] == [])
            #expect(policy["jwks"] == .null)
            #expect(
                policy["webPushHosts"] == [
                    "fcm.googleapis.com", "jmt17.google.com", "updates.push.services.mozilla.com",
                    "*.push.services.mozilla.com", "*.notify.windows.com", "*.push.apple.com",
                ])
            #expect(policy["rateLimits"] == ["perKey": .null, "perAddress": .null])
        }

        @Test func app_isCreated_withoutAnyBody() async throws {
            let registry = try Registry.shared
            let path = "/v1/apps/com.example.bare\(UInt32.random(in: 0...UInt32.max))"
            #expect(try await registry.send("PUT", path).status == 201)
            #expect(try await registry.send("PUT", path).status == 200)
        }

        @Test func policy_isReturnedAsSet_withoutSecrets() async throws {
            let app = try await RegistryApp.make()
            let response = try await put(app, Self.complete)
            #expect(response.status == 200)
            var expected = Self.complete
            expected["app"] = .string(app.id)
            expected["jwks"] = ["keys": [["kty": "oct", "kid": "k1", "alg": "HS256"]]]
            let read = try await app.send("GET", "", by: .role(.admin))
            #expect(read.json == expected)
            #expect(response.json == expected)
            let list = try await app.registry.send("GET", "/v1/apps?limit=1000")
            #expect(list.text.contains(app.id) && !list.text.contains(Self.secret))
            #expect(!app.registry.service.command.log.contains(Self.secret))
        }

        /// `null` is no default here, but off.
        @Test func breaker_isOff_ifItIsNull_andHasDefaultsIfItIsMissing() async throws {
            let app = try await RegistryApp.make()
            func breaker(_ method: String, _ body: JSON) async throws -> JSON {
                let changed = try await app.send(method, "", body, by: .role(.admin))
                let read = try await app.send("GET", "", by: .role(.admin)).json["feedbackBreaker"]
                #expect(changed.status == 200 && changed.json["feedbackBreaker"] == read, "\(changed.text)")
                return read
            }
            let standard: JSON = ["count": 1_000, "share": 0.05]
            #expect(try await breaker("PUT", [:]) == standard)
            #expect(try await breaker("PATCH", ["feedbackBreaker": ["share": 0.2]]) == ["count": 1_000, "share": 0.2])
            #expect(try await breaker("PATCH", ["feedbackBreaker": ["count": 7]]) == ["count": 7, "share": 0.2])
            #expect(try await breaker("PATCH", ["grace": "P6D"]) == ["count": 7, "share": 0.2])
            #expect(try await breaker("PATCH", ["feedbackBreaker": .null]) == .null)
            #expect(try await breaker("PATCH", ["grace": "P5D"]) == .null)
            #expect(try await breaker("PUT", ["feedbackBreaker": ["share": 1]]) == ["count": 1_000, "share": 1])
            #expect(try await breaker("PUT", ["feedbackBreaker": .null]) == .null)
            #expect(try await breaker("PUT", [:]) == standard)
            for (body, fault) in [
                (["share": 0], "share out-of-range"), (["share": 1.1], "share out-of-range"),
                (["count": -1], "count out-of-range"), (["count": 0.5], "count not-an-integer"),
                (["counts": 1], "counts unknown-member"),
            ] as [(JSON, String)] {
                let refused = try await app.send("PATCH", "", ["feedbackBreaker": body], by: .role(.admin))
                #expect(refused.status == 400 && refused.faults == ["/feedbackBreaker/" + fault], "\(refused.text)")
            }
        }

        @Test func groups_areChangedOneByOne_byAPatch() async throws {
            let app = try await RegistryApp.make(policy: ["consoleGroups": ["a": "marketing", "b": "support"]])
            func groups(_ method: String, _ body: JSON) async throws -> JSON {
                let changed = try await app.send(method, "", body, by: .role(.admin))
                let read = try await app.send("GET", "", by: .role(.admin)).json["consoleGroups"]
                #expect(changed.status == 200 && changed.json["consoleGroups"] == read, "\(changed.text)")
                return read
            }
            let patch: JSON = ["consoleGroups": ["a": .null, "b": "admin", "c": "sender"]]
            #expect(try await groups("PATCH", patch) == ["b": "admin", "c": "sender"])
            #expect(try await groups("PATCH", ["grace": "P6D"]) == ["b": "admin", "c": "sender"])
            #expect(try await groups("PATCH", ["consoleGroups": .null]) == [:])
            #expect(try await groups("PUT", ["consoleGroups": ["d": "service"]]) == ["d": "service"])
            #expect(try await groups("PUT", [:]) == [:])
            // Two spellings of one Unicode text.
            _ = try await app.send("PATCH", "", ["consoleGroups": ["caf\u{E9}": "admin"]], by: .role(.admin))
            _ = try await app.send("PATCH", "", ["consoleGroups": ["cafe\u{301}": "support"]], by: .role(.admin))
            let text = try await app.send("GET", "", by: .role(.admin)).text
            #expect(text.contains(#""admin""#) && text.contains(#""support""#), "\(text)")
            let many = JSON.object(Dictionary(uniqueKeysWithValues: (0...100).map { ("g\($0)", "support") }))
            for (body, fault) in [
                (["a": "client"], "/a unknown-value"), (["a": "Admin"], "/a unknown-value"),
                (["a": ["admin"]], "/a wrong-type"), (["": "admin"], "/ out-of-range"), ([], " wrong-type"),
                (many, " too-many"), (.object([String(repeating: "g", count: 257): "admin"]), "out-of-range"),
            ] as [(JSON, String)] {
                let refused = try await app.send("PUT", "", ["consoleGroups": body], by: .role(.admin))
                #expect(refused.status == 400 && refused.faults.count == 1, "\(refused.text)")
                #expect(refused.faults.first?.hasPrefix("/consoleGroups") == true)
                #expect(refused.faults.first?.hasSuffix(fault) == true, "\(refused.faults)")
            }
        }

        @Test func put_replacesEverything_whenMembersAreOmitted() async throws {
            let app = try await RegistryApp.make(policy: Self.complete)
            _ = try await put(app, ["grace": "P6D"])
            let policy = try await app.send("GET", "", by: .role(.admin)).json
            #expect(policy["grace"] == "P6D")
            #expect(policy["jwks"] == .null)
            #expect(policy["storeAdvertisingId"] == false)
            #expect(policy["staleAfter"]["fcm"] == "P60D")
        }

        @Test func symmetricKey_isKept_whenItsKidIsPutWithoutSecret() async throws {
            let app = try await RegistryApp.make(policy: Self.complete)
            var policy = Self.complete
            policy["jwks"] = ["keys": [["kty": "oct", "kid": "k1", "alg": "HS256"]]]
            policy["grace"] = "P6D"
            #expect(try await put(app, policy).status == 200)
            let stored = try await app.database.column(
                "SELECT policy::text FROM app WHERE identifier = \(app.id)", as: String.self)
            #expect(stored.first?.contains(Self.secret) == true)
        }

        @Test func symmetricKey_isAFault_whenItHasNoSecretAndNoneIsStored() async throws {
            let app = try await RegistryApp.make(policy: Self.complete)
            let response = try await put(
                app, ["jwks": ["keys": [["kty": "oct", "kid": "k1"], ["kty": "oct", "kid": "k2"], ["kid": "k3"]]]])
            #expect(response.status == 400)
            #expect(Set(response.faults) == ["/jwks/keys/1/k required", "/jwks/keys/2/kty required"])
        }

        @Test func policy_listsEveryFault_whenItContradictsItself() async throws {
            let app = try await RegistryApp.make()
            let response = try await put(
                app,
                [
                    "touchInterval": "P10D", "grace": "P10D", "staleAfter": ["fcm": "P1D", "huawei": "P3M"],
                    "retention": 30, "allowedOrigins": ["app.example.com"], "storeAdvertisingId": "no",
                    "rateLimits": ["perKey": ["rate": 0, "burst": 1], "perAddress": ["rate": 1]],
                ])
            #expect(response.status == 400)
            #expect(
                Set(response.faults) == [
                    "/grace not-above-touch-interval", "/staleAfter/fcm not-above-touch-interval",
                    "/staleAfter/huawei invalid-duration", "/retention wrong-type", "/allowedOrigins/0 invalid-origin",
                    "/storeAdvertisingId wrong-type", "/rateLimits/perKey/rate out-of-range",
                    "/rateLimits/perAddress/burst required",
                ])
            #expect(try await app.send("GET", "", by: .role(.admin)).json["grace"] == "P7D")
        }

        @Test func app_isRefused_whenItsNameIsInvalid() async throws {
            let registry = try Registry.shared
            // A client resolves /v1/apps/.. before it sends it; percent-encoded dots arrive.
            for name in ["with%20space", "a%2Fb", "%2E", "%2E%2E", String(repeating: "x", count: 129)] {
                let response = try await registry.send("PUT", "/v1/apps/\(name)", [:])
                #expect(response.status == 400)
                #expect(response.faults == ["app invalid-parameter"])
            }
        }

        @Test func policy_appliesToTheNextRequest_onEveryLoop() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone")
            for days in [70, 80, 90] {
                _ = try await put(app, ["staleAfter": ["apns": .string("P\(days)D")]])
                let texts = try await race(16) { _ in try await app.put("phone").json["registerAgainBefore"].string }
                let last = try await app.get("phone").json["lastSeenAt"].string ?? ""
                let parsed = try #require(Self.date(last))
                let expected = parsed.addingTimeInterval(Double(days) * 86_400)
                for text in texts {
                    let date = try #require(text.flatMap(Self.date))
                    #expect(abs(date.timeIntervalSince(expected)) < 1)
                }
            }
        }

        /// Web pages must not manage keys.
        @Test func keys_areSharedWithNoOrigin() async throws {
            let app = try await RegistryApp.make(policy: ["allowedOrigins": ["*"]])
            let origin = [("Origin", "https://app.example.com")]
            let shared = try await app.send("GET", "/installations/phone", fields: origin)
            #expect(shared["Access-Control-Allow-Origin"] != nil)
            for (method, path) in [("GET", "/keys"), ("DELETE", "/keys/none"), ("GET", "")] {
                let response = try await app.send(method, path, by: .role(.admin), fields: origin)
                #expect(response["Access-Control-Allow-Origin"] == nil, "\(method) \(path)")
            }
        }

        private static func date(_ text: String) -> Date? {
            try? Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains(".")).parse(text)
        }
    }
}

import Basics
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A change of a policy affects only the named members, and no other app")
    struct PolicyChangeTests {
        private func get(_ app: RegistryApp) async throws -> HTTPResponse {
            try await app.send("GET", "", by: .role(.admin))
        }

        private func put(_ app: RegistryApp, _ policy: JSON, ifMatch: String? = nil) async throws -> HTTPResponse {
            try await app.send("PUT", "", policy, by: .role(.admin), fields: ifMatch.map { [("If-Match", $0)] } ?? [])
        }

        private func patch(_ app: RegistryApp, _ patch: JSON, ifMatch: String? = nil) async throws -> HTTPResponse {
            try await app.send(
                "PATCH", "", patch, by: .role(.admin), fields: ifMatch.map { [("If-Match", $0)] } ?? [])
        }

        private func stored(_ app: RegistryApp) async throws -> JSON {
            let texts = try await app.database.column(
                "SELECT policy::text FROM app WHERE identifier = \(app.id)", as: String.self)
            return try JSON(parsing: (texts.first ?? "").utf8)
        }

        @Test func unknownMember_isAFault_thatSuggestsTheNearestName() async throws {
            let app = try await RegistryApp.make()
            let body: JSON = [
                "touchIntervall": "PT1H", "jwks_uri": "x", "staleAfter": ["apn": "P9D"],
                "rateLimits": ["perkey": ["rate": 1, "burst": 1], "perAddress": ["rate": 1, "burst": 1, "max": 2]],
            ]
            for response in [try await put(app, body), try await patch(app, body)] {
                #expect(response.status == 400)
                #expect(
                    Set(response.faults) == [
                        "/touchIntervall unknown-member", "/jwks_uri unknown-member", "/staleAfter/apn unknown-member",
                        "/rateLimits/perkey unknown-member", "/rateLimits/perAddress/max unknown-member",
                    ])
                #expect(response.text.contains("Did you mean touchInterval?"))
            }
        }

        @Test func policy_mayBePutBackAsItWasRead() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let read = try await get(app)
            #expect(try await put(app, read.json).status == 200)
            #expect(try await get(app).json == read.json)
            var other = read.json
            other["app"] = "com.example.other"
            #expect(try await put(app, other).faults == ["/app wrong-app"])
        }

        @Test func patch_changesWhatItNames_andNullIsTheDefault() async throws {
            var policy = UserJWT.policy
            policy["grace"] = "P5D"
            policy["staleAfter"] = ["apns": "P90D", "fcm": "P50D"]
            policy["rateLimits"] = ["perKey": ["rate": 500, "burst": 10], "perAddress": ["rate": 500, "burst": 20]]
            let app = try await RegistryApp.make(policy: policy)
            let response = try await patch(
                app,
                [
                    "grace": .null, "retention": "P40D", "staleAfter": ["apns": .null, "huawei": "P20D"],
                    "rateLimits": ["perKey": ["rate": 700], "perAddress": .null], "allowedOrigins": ["*"],
                ])
            #expect(response.status == 200, "\(response.text)")
            #expect(response.json["grace"] == "P7D" && response.json["retention"] == "P40D")
            #expect(response.json["staleAfter"]["apns"] == "P60D" && response.json["staleAfter"]["fcm"] == "P50D")
            #expect(response.json["staleAfter"]["huawei"] == "P20D")
            #expect(response.json["rateLimits"] == ["perKey": ["rate": 700, "burst": 10], "perAddress": .null])
            let withoutRate = try await patch(app, ["rateLimits": ["perKey": ["rate": .null]]])
            #expect(withoutRate.faults == ["/rateLimits/perKey/rate required"])
            #expect(response.json["jwks"]["keys"][0]["kid"] == "tests")
            #expect(try await app.put("phone", by: UserJWT.make("alice")).status == 201)
            #expect(response["ETag"] == (try await get(app))["ETag"])
        }

        @Test func patch_isValidated_andRequiresItsContentType() async throws {
            let app = try await RegistryApp.make()
            #expect(try await patch(app, ["grace": "PT1H"]).faults == ["/grace not-above-touch-interval"])
            #expect(try await patch(app, [1]).status == 400)
            var request = app.request("PATCH", "", ["grace": "P5D"], by: .role(.admin))
            request.fields = request.fields.map {
                $0.name == "Content-Type" ? ($0.name, "application/merge-patch+json") : $0
            }
            #expect(try await app.registry.client.response(to: request).json["grace"] == "P5D")
            let unknown = "/v1/apps/com.example.none\(UInt32.random(in: 0...UInt32.max))"
            #expect(try await app.registry.send("PATCH", unknown, ["grace": "P5D"]).code == "unknown-app")
        }

        @Test func ifMatch_protectsAPolicy_againstConcurrentChanges() async throws {
            let app = try await RegistryApp.make()
            let tag = try #require(try await get(app)["ETag"])
            let changed = try await put(app, ["grace": "P5D"], ifMatch: tag)
            #expect(changed.status == 200 && changed["ETag"] != tag)
            for response in [
                try await put(app, ["grace": "P6D"], ifMatch: tag),
                try await patch(app, ["grace": "P6D"], ifMatch: tag),
            ] {
                #expect(response.status == 412 && response.code == "outdated")
                #expect(response["ETag"] == changed["ETag"])
            }
            #expect(try await get(app).json["grace"] == "P5D")
            #expect(try await patch(app, ["grace": "P6D"], ifMatch: changed["ETag"]).status == 200)
            #expect(try await put(app, [:], ifMatch: "*").status == 200)
            #expect(try await patch(app, ["grace": "P6D"], ifMatch: "\"other\"").status == 412)
            #expect(try await put(app, [:], ifMatch: "grace").faults == ["If-Match invalid-header"])
            let unknown = "/v1/apps/com.example.none\(UInt32.random(in: 0...UInt32.max))"
            let created = try await app.registry.send("PUT", unknown, [:], fields: [("If-Match", "*")])
            #expect(created.status == 412 && created["ETag"] == nil)
            #expect(try await app.registry.send("GET", unknown).status == 404)
        }

        @Test func noPatchIsLost_when16Race() async throws {
            let app = try await RegistryApp.make()
            let providers = ["apns", "apnsSandbox", "fcm", "huawei", "webPush"]
            let statuses = try await race(5) { number in
                try await patch(app, ["staleAfter": .object([providers[number]: .string("P\(70 + number)D")])]).status
            }
            #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
            let after = try await get(app).json["staleAfter"]
            for (number, name) in providers.enumerated() { #expect(after[name].string == "P\(70 + number)D") }
        }

        private func changedMembers(_ app: RegistryApp) async throws -> [[String?]] {
            try await app.send("GET", "/audit?limit=100", by: .role(.admin)).json["entries"].array.map { entry in
                entry["members"].array.map(\.string)
            }
        }

        /// A PUT of a key without its secret keeps the secret, and the audit names what differs: both are decided
        /// against the policy that the change replaces, not against an earlier one.
        @Test func putsThatRace_areDecidedOneAfterTheOther() async throws {
            let app = try await RegistryApp.make()
            let kept: JSON = ["kty": "oct", "kid": "tests", "alg": "HS256"]
            var former = kept
            former["k"] = .string(String(base64URL: "a former secret of 32 characters.".utf8))
            for _ in 1...20 {
                #expect(try await put(app, ["jwks": ["keys": [former]]]).status == 200)
                let before = try await changedMembers(app).count
                let statuses = try await race(8) { number in
                    try await put(
                        app, number == 4 ? UserJWT.policy : ["grace": "P5D", "jwks": ["keys": [kept]]]
                    ).status
                }
                #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
                #expect(try await app.put("phone", by: UserJWT.make("alice")).status < 300)
                let changes = try await changedMembers(app).dropLast(before)
                // The grace is set, and reset by the change of the secret, and set again.
                #expect(changes.count { $0.contains("jwks") } == 1, "\(changes)")
                #expect((2...3).contains(changes.count), "\(changes)")
            }
        }

        @Test func change_leavesNoEntry_whenItChangesNothing() async throws {
            let app = try await RegistryApp.make(policy: ["grace": "P5D"])
            let before = try await changedMembers(app)
            let tag = try await get(app)["ETag"]
            for response in [
                try await patch(app, [:]), try await patch(app, ["grace": "P5D"]), try await put(app, ["grace": "P5D"]),
            ] {
                #expect(response.status == 200 && response["ETag"] == tag)
            }
            #expect(try await changedMembers(app) == before)
        }

        /// A default that a new version changes must change for every app that did not set the member.
        @Test func defaults_areNotFrozenIntoThePolicy() async throws {
            let app = try await RegistryApp.make(policy: ["grace": "P7D", "staleAfter": ["fcm": "P50D"]])
            #expect(try await stored(app) == ["grace": "P7D", "staleAfter": ["fcm": "P50D"]])
        }

        @Test func unusableStoredPolicy_affectsOnlyItsApp_untilItIsReplaced() async throws {
            let (broken, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            for policy in [#"{"grace": "PT1H"}"#, #"{"retention": "for ever"}"#, #"{"grace": 7}"#] {
                _ = try await broken.database.rows(
                    "UPDATE app SET policy = \(policy)::text::jsonb WHERE identifier = \(broken.id)")
                let response = try await broken.put("phone")
                #expect(response.status == 503 && response.code == "unusable-policy", "\(policy): \(response.text)")
                #expect(try await get(broken).code == "unusable-policy")
                #expect(try await other.put("phone").status < 300)
                let list = try await other.registry.send("GET", "/v1/apps")
                #expect(list.status == 200 && list.json["unusable"].array.contains { $0["app"].string == broken.id })
                #expect(!list.json["apps"].array.contains { $0["app"].string == broken.id })
                #expect(try await put(broken, ["grace": "P5D"]).status == 200)
                #expect(try await broken.put("phone").status < 300)
            }
        }

        /// The registration is authorized once more, because the loop's directory is outdated.
        @Test func call_countsOnce_whenTheDirectoryHasChanged() async throws {
            let app = try await RegistryApp.make()
            let limits: JSON = ["rateLimits": ["perKey": ["rate": 0.01, "burst": 1]]]
            #expect(try await put(app, limits).status == 200)
            let connection = try TestConnection(port: app.registry.client.port)
            #expect(try await connection.response(to: app.registration("phone", by: .role(.client))).status == 201)
            _ = try await app.send("PUT", "/topics/news", ["name": "News", "default": "in"], by: .role(.marketing))
            #expect(try await connection.response(to: app.registration("phone", by: .role(.service))).status == 200)
            #expect(try await connection.response(to: app.registration("phone", by: .role(.service))).status == 429)
        }

        @Test func unusableStoredPolicy_isShownToTheOperator() async throws {
            let app = try await RegistryApp.make()
            let registry = app.registry
            _ = try await app.database.rows(
                #"UPDATE app SET policy = '{"grace": "PT1H"}' WHERE identifier = \#(app.id)"#)
            // Each loop reads the directory.
            for _ in 1...8 { #expect(try await app.put("phone").status == 503) }
            let readiness = try await registry.send("GET", "/readyz", key: nil)
            #expect(readiness.status == 200)
            #expect(readiness.json["degraded"].array.contains { $0.string?.contains("policy") == true })
            // Strangers must not learn the names of apps.
            #expect(!readiness.text.contains(app.id))
            let lines = {
                registry.service.command.log.split(separator: "\n").filter {
                    $0.contains(app.id) && $0.contains("policy") && $0.contains("error")
                }
            }
            try await eventually("the policy is logged") { !lines().isEmpty }
            #expect(lines().count == 1 && lines()[0].contains("grace"), "\(lines())")
            let metrics = try await registry.send("GET", "/metrics", key: nil).text
            let gauge = metrics.firstMatch(of: /\npush_registry_unusable_policies (\d+)/)
            #expect(gauge.flatMap { Int($0.1) } ?? 0 > 0)
            #expect(try await put(app, [:]).status == 200)
        }
    }
}

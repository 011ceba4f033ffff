import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A key is shown once, and works until it is revoked")
    struct KeyTests {
        private func create(_ app: RegistryApp, _ body: JSON) async throws -> HTTPResponse {
            try await app.send("POST", "/keys", body, by: .role(.admin))
        }

        @Test func key_isShownOnce_whenItIsCreated() async throws {
            let app = try await RegistryApp.make()
            let response = try await create(app, ["name": "back end", "roles": ["service", "sender"]])
            #expect(response.status == 201)
            let key = try #require(response.json["key"].string)
            let secret = try #require(key.split(separator: "_").last)
            #expect(response["Cache-Control"] == "no-store")
            let list = try await app.send("GET", "/keys", by: .role(.admin))
            #expect(!list.text.contains(secret))
            let listed = try #require(list.json["keys"].array.first { $0["id"] == response.json["id"] })
            #expect(listed["name"] == "back end")
            #expect(listed["roles"] == ["sender", "service"])
            #expect(listed["createdAt"].string != nil)
            #expect(listed["revokedAt"] == .null)
            #expect(try await app.put("phone", as: "alice", by: .text(key)).status == 201)
            #expect(!app.registry.service.command.log.contains(secret))
        }

        @Test func caller_learnsWhatItsCredentialIs() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let caller = { (credential: RegistryApp.Credential) in
                try await app.send("GET", "/caller", by: credential).json
            }
            for role in RegistryApp.Role.allCases {
                let known = try await caller(.role(role))
                #expect(known["roles"] == [.string(role.rawValue)] && known["keyId"].string == app.keyID(role))
                #expect(Set(known.object.keys) == ["roles", "keyId", "name"])
            }
            let expiry = "2127-01-01T00:00:00Z"
            let guest = try await create(
                app, ["name": "guest", "roles": ["sender", "marketing"], "expiresAt": .string(expiry)])
            let known = try await caller(.text(try #require(guest.json["key"].string)))
            #expect(known["roles"] == ["marketing", "sender"] && known["name"] == "guest")
            #expect(known["expiresAt"].string == expiry)
            #expect(try await caller(.text(RunningService.adminKey)) == ["roles": ["admin"]])
            let user = try await caller(
                UserJWT.make("alice", session: "s-1", issuedAt: 1_767_225_600, expiresAt: 4_954_435_200))
            #expect(user == ["roles": ["client"], "userId": "alice", "sessionId": "s-1", "expiresAt": .string(expiry)])
        }

        @Test func database_hasNoSecret_whenKeyIsStored() async throws {
            let app = try await RegistryApp.make()
            let secrets = RegistryApp.Role.allCases.compactMap { app.key($0).split(separator: "_").last }
            let rows = try await app.database.column("SELECT api_key::text FROM api_key", as: String.self)
            #expect(secrets.count == 6)
            for secret in secrets { #expect(!rows.contains { $0.contains(secret) }) }
        }

        @Test(
            arguments: [
                (["name": "x"], ["/roles required"]),
                (["name": "x", "roles": []], ["/roles required"]),
                (["name": "x", "roles": ["king"]], ["/roles/0 unknown-role"]),
                (["roles": ["client", 5]], ["/name required", "/roles/1 wrong-type"]),
                (["name": 1, "roles": "client"], ["/name wrong-type", "/roles wrong-type"]),
                (["name": "x", "roles": ["client"], "expiresAt": 5], ["/expiresAt wrong-type"]),
                (["name": "x", "roles": ["client"], "expiresAt": "in June"], ["/expiresAt invalid-time"]),
                (["name": "x", "roles": ["client"], "expiresAt": "2026-01-01T00:00:00Z"], ["/expiresAt out-of-range"]),
            ] as [(JSON, [String])])
        func key_isRefused_whenNameOrRolesAreInvalid(body: JSON, faults: [String]) async throws {
            let app = try await RegistryApp.make()
            let response = try await create(app, body)
            #expect(response.status == 400)
            #expect(response.faults == faults)
        }

        /// No change of the directory tells the processes that the time has come.
        @Test func key_isRefused_fromItsExpiryOn() async throws {
            let app = try await RegistryApp.make()
            let expiresAt = Date(timeIntervalSinceNow: 3_600).ISO8601Format()
            let body: JSON = ["name": "guest", "roles": ["support"], "expiresAt": .string(expiresAt)]
            let key = try await create(app, body).json
            let credential = RegistryApp.Credential.text(try #require(key["key"].string))
            _ = try await app.put("phone")
            #expect(try await app.get("phone", by: credential).status == 200)
            var guest = ConsoleVisitor(registry: app.registry)
            let signedIn = try await guest.signIn(["app": .string(app.id), "key": key["key"]])
            #expect(signedIn.status == 200)
            #expect(try await guest.send("GET", "/console/v1/apps/\(app.id)/topics").status == 200)
            let listed = { try await app.send("GET", "/keys", by: .role(.admin)).json["keys"].array }
            #expect(try await listed().first { $0["id"] == key["id"] }?["expiresAt"] == body["expiresAt"])
            #expect(try await listed().first { $0["name"] == "service" }?["expiresAt"] == .null)
            _ = try await app.database.rows(
                "UPDATE api_key SET expires_at = now() + interval '3 seconds' WHERE id = \(key["id"].string)")
            try await eventually("the key expires") { try await app.get("phone", by: credential).status == 401 }
            let refused = try await app.get("phone", by: credential)
            #expect(refused.code == "invalid-credential" && refused.json["detail"].string?.contains("expired") == true)
            #expect(try await guest.send("GET", "/console/v1/apps/\(app.id)/topics").code == "signed-out")
        }

        @Test func commandLine_makesKeysThatExpire() async throws {
            let app = try await RegistryApp.make()
            let run = { (arguments: [String]) in try await app.registry.run(["keys"] + arguments) }
            let create = ["create", app.id, "--name", "guest", "--role", "support", "--expires-at"]
            #expect(try await run(create + ["2026-01-01T00:00:00Z"]).status == 64)
            #expect(try await run(create + ["2127-01-01T00:00:00Z"]).status == 0)
            #expect(try await run(["list", app.id]).output.contains("expires 2127-01-01T00:00:00Z"))
        }

        @Test func revokedKeys_areForgotten_after400Days() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.database.rows(
                """
                INSERT INTO api_key (id, app_id, name, roles, secret_sha256, revoked_at)
                SELECT md5(random()::text), app.id, n::text, '{sender}', sha256(n::text::bytea),
                    now() - n * interval '1 day'
                FROM app CROSS JOIN generate_series(399, 402) AS t (n)
                WHERE identifier = \(app.id)
                """)
            #expect(try await create(app, ["name": "new", "roles": ["sender"]]).status == 201)
            let keys = try await app.send("GET", "/keys", by: .role(.admin)).json["keys"].array
            let revoked = keys.filter { $0["revokedAt"] != .null }.compactMap { $0["name"].string }
            #expect(revoked == ["399"])
        }

        @Test func app_hasAtMostAThousandKeys_howeverManyAreMadeAtOnce() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.database.rows(
                """
                INSERT INTO api_key (id, app_id, name, roles, secret_sha256, revoked_at)
                SELECT md5(random()::text), app.id, 'filler', '{sender}', sha256(n::text::bytea),
                    CASE WHEN n > 999 - (SELECT count(*) FROM api_key WHERE app_id = app.id) THEN now() END
                FROM app CROSS JOIN generate_series(1, 1100) AS t (n)
                WHERE identifier = \(app.id)
                """)
            let body: JSON = ["name": "one more", "roles": ["sender"]]
            let responses = try await race(8) { _ in try await create(app, body) }
            #expect(responses.map(\.status).sorted() == [201] + Array(repeating: 409, count: 7))
            #expect(responses.allSatisfy { $0.status == 201 || $0.code == "too-many-keys" })
            let made = try #require(responses.first { $0.status == 201 }?.json["id"].string)
            #expect(try await app.send("DELETE", "/keys/\(made)", by: .role(.admin)).status == 204)
            #expect(try await create(app, body).status == 201)
        }

        @Test func key_showsItsLastUse_toTheHour() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            var keys: [String: JSON] = [:]
            try await eventually("the use is recorded") {
                let list = try await app.send("GET", "/keys", by: .role(.admin)).json["keys"].array
                keys = Dictionary(uniqueKeysWithValues: list.map { ($0["name"].string ?? "", $0["lastUsedAt"]) })
                return keys["service"] != .null
            }
            #expect(keys["service"]?.string?.hasSuffix(":00:00Z") == true)
            #expect(keys["sender"] == .null)
            let result = try await app.registry.run(["keys", "list", app.id, "--json"])
            let listed = try JSON(parsing: result.output.utf8)["keys"].array.first { $0["name"] == "service" }
            #expect(listed?["lastUsedAt"] == keys["service"])
        }

        @Test func revoking_isRepeatable_andShowsInTheList() async throws {
            let app = try await RegistryApp.make()
            let id = app.keyID(.sender)
            for _ in 1...2 {
                #expect(try await app.send("DELETE", "/keys/\(id)", by: .role(.admin)).status == 204)
            }
            let first = try await app.send("GET", "/keys", by: .role(.admin)).json["keys"].array
            #expect(first.first { $0["id"].string == id }?["revokedAt"].string != nil)
            #expect(first.count == 6)
        }

        @Test func revoking_isA404_whenTheKeyIsAnotherApps() async throws {
            let (app, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            let response = try await app.send("DELETE", "/keys/\(other.keyID(.client))", by: .role(.admin))
            #expect(response.status == 404)
            #expect(response.code == "unknown-key")
            #expect(try await other.put("phone", by: .role(.client)).status == 201)
        }

        @Test func admin_mayDoEverything_onItsOwnApp() async throws {
            let app = try await RegistryApp.make()
            #expect(try await app.put("phone", as: "alice", by: .role(.admin)).status == 201)
            let record = try await app.get("phone", by: .role(.admin))
            #expect(record.json["token"].string == SampleRegistration.token("phone"))
            #expect(try await app.send("GET", "/installations/phone/snapshots", by: .role(.admin)).status == 200)
            #expect(try await app.delete("phone", by: .role(.admin)).status == 204)
        }
    }
}

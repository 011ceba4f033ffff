import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Who changed what in an app can be read by its administrators")
    struct AuditListTests {
        private func entries(
            _ app: RegistryApp, _ query: String = "", by credential: RegistryApp.Credential = .role(.admin)
        ) async throws -> [JSON] {
            let response = try await app.send("GET", "/audit\(query)", by: credential)
            #expect(response.status == 200, "\(response.text)")
            return response.json["entries"].array
        }

        /// Makes a change, or tries to, and returns the entries that it has left.
        private func entries(
            of app: RegistryApp, _ method: String, _ rest: String, _ body: JSON? = nil, by role: RegistryApp.Role,
            status: Int, fields: [(String, String)] = []
        ) async throws -> [JSON] {
            let before = try await entries(app)
            let response = try await app.send(method, rest, body, by: .role(role), fields: fields)
            #expect(response.status == status, "\(method) \(rest) \(response.text)")
            let after = try await entries(app)
            #expect(Array(after.suffix(before.count)) == before)
            return Array(after.prefix(after.count - before.count))
        }

        @Test func change_isOneEntry_withItsActor() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let first = try await entries(app)
            #expect(first.map { $0["action"] } == Array(repeating: "key.created", count: 6) + ["app.created"])
            #expect(first[6]["actor"] == "admin" && first[6]["actorName"] == .null && first[6]["roles"] == ["admin"])
            let topic: JSON = ["name": "News", "default": "in"]
            for (method, rest, body, role, status, action, target, members):
                (
                    String, String, JSON?, RegistryApp.Role, Int, String, String?, JSON
                ) in [
                    ("PUT", "", ["grace": "P5D"], .admin, 200, "policy.replaced", app.id, ["grace"]),
                    ("PATCH", "", ["grace": "P6D"], .admin, 200, "policy.changed", app.id, ["grace"]),
                    ("POST", "/keys", ["name": "x", "roles": ["sender"]], .admin, 201, "key.created", nil, []),
                    ("DELETE", "/keys/\(app.keyID(.client))", nil, .admin, 204, "key.revoked", app.keyID(.client), []),
                    ("PUT", "/segments/s", ["filter": [:]], .marketing, 201, "segment.saved", "s", []),
                    ("DELETE", "/segments/s", nil, .marketing, 204, "segment.deleted", "s", []),
                    ("PUT", "/topics/news", topic, .marketing, 201, "topic.saved", "news", []),
                    ("DELETE", "/topics/news", nil, .marketing, 204, "topic.deleted", "news", []),
                    ("DELETE", "/users/alice", nil, .service, 200, "user.erased", nil, []),
                ]
            {
                let left = try await entries(of: app, method, rest, body, by: role, status: status)
                #expect(left.count == 1, "\(action)")
                let entry = try #require(left.first)
                #expect(entry["action"].string == action && entry["members"] == members, "\(entry.text)")
                #expect(target == nil || entry["target"].string == target, "\(entry.text)")
                #expect(entry["actor"].string == "\(role):\(app.keyID(role))" && entry["roles"] == [.string("\(role)")])
                #expect(entry["actorName"].string == "\(role)" && entry["requestId"].string?.isEmpty == false)
            }
            let receipt = try await app.send("DELETE", "/users/bob").json["receiptId"]
            #expect(try await entries(app)[0]["target"] == receipt)
        }

        @Test func decisionAboutFeedback_isOneEntry_ifItChangesSomething() async throws {
            let app = try await RegistryApp.make(policy: ["feedbackBreaker": ["count": 0, "share": 0.5]])
            func report() async throws {
                for phone in ["a", "b"] { _ = try await app.put(phone) }
                try await app.waitTwoDays()
                #expect(try await app.feedback([.dead("a"), .dead("b")]).json["held"] != 0)
            }
            func decide(_ decision: String, _ body: JSON, _ answer: JSON, leaving action: String? = nil) async throws {
                let before = try await entries(app).count
                let response = try await app.send("POST", "/feedback/\(decision)", body, by: .role(.admin))
                #expect(response.status == 200 && response.json == answer, "\(response.text)")
                let left = try await entries(app).dropLast(before)
                #expect(left.compactMap { $0["action"].string } == (action.map { [$0] } ?? []))
                #expect(left.allSatisfy { $0["target"] == "apns" && $0["members"] == [] })
                #expect(left.allSatisfy { $0["actor"].string == "admin:\(app.keyID(.admin))" })
            }
            let release: JSON = ["provider": "apns"]
            let restore: JSON = ["provider": "apns", "since": "2026-01-01T00:00:00Z"]
            try await decide("release", release, ["released": 0])
            try await report()
            try await decide("release", release, ["released": 1], leaving: "feedback.released")
            try await decide("release", release, ["released": 0])
            try await decide("restore", restore, ["restored": 2], leaving: "feedback.restored")
            try await decide("restore", restore, ["restored": 0])
            // Nothing is held any more, but the breaker is open until somebody decides.
            try await report()
            for phone in ["a", "b"] { _ = try await app.put(phone) }
            try await decide("release", release, ["released": 0], leaving: "feedback.released")
            try await decide("release", release, ["released": 0])
        }

        @Test func nothing_isLeft_byWhatIsRefusedReadOrOnlyTried() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.send("PUT", "/topics/news", ["name": "News", "default": "in"], by: .role(.marketing))
            _ = try await app.send("PUT", "/segments/s", ["filter": ["topic": "news"]], by: .role(.marketing))
            _ = try await app.send("DELETE", "/keys/\(app.keyID(.client))", by: .role(.admin))
            let stale = [("If-Match", "\"stale\"")]
            for (method, rest, body, role, status, fields):
                (
                    String, String, JSON?, RegistryApp.Role, Int, [(String, String)]
                ) in [
                    ("PUT", "", ["grace": "never"], .admin, 400, []), ("PATCH", "", ["grace": "P5D"], .sender, 403, []),
                    ("PATCH", "", ["grace": "P5D"], .admin, 412, stale), ("PUT", "", [:], .admin, 412, stale),
                    ("POST", "/keys", ["name": "x", "roles": []], .admin, 400, []),
                    ("DELETE", "/keys/unknown", nil, .admin, 404, []),
                    ("DELETE", "/keys/\(app.keyID(.client))", nil, .admin, 204, []),
                    ("PUT", "/segments/s", ["filter": ["topic": "unknown"]], .marketing, 400, []),
                    ("DELETE", "/segments/s", nil, .marketing, 412, stale),
                    ("DELETE", "/segments/unknown", nil, .marketing, 204, []),
                    ("DELETE", "/topics/news", nil, .marketing, 409, []),
                    ("DELETE", "/topics/unknown", nil, .marketing, 204, []),
                    ("DELETE", "/users/alice", nil, .support, 403, []),
                    ("POST", "/feedback/release", ["provider": "apns", "dryRun": true], .admin, 200, []),
                    ("DELETE", "?confirm=\(app.id)", nil, .admin, 403, []),
                    ("POST", "/audience/count", ["filter": [:]], .marketing, 200, []),
                ]
            {
                let left = try await entries(
                    of: app, method, rest, body, by: role, status: status, fields: fields)
                #expect(left.isEmpty, "\(method) \(rest)")
            }
        }

        @Test func entries_haveNoSecret() async throws {
            let app = try await RegistryApp.make()
            let secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMyLWI"
            let keys: JSON = ["keys": [["kty": "oct", "alg": "HS256", "kid": "k", "k": .string(secret)]]]
            let put = try await app.send("PUT", "", ["jwks": keys], by: .role(.admin))
            #expect(put.status == 200, "\(put.text)")
            let key = try await app.send("POST", "/keys", ["name": "x", "roles": ["sender"]], by: .role(.admin)).json
            let token = SampleRegistration.token("audited")
            _ = try await app.put("phone", SampleRegistration.make("phone", token: token), as: "alice-in-the-audit")
            _ = try await app.send(
                "PUT", "/segments/s", ["filter": ["userId": "alice-in-the-audit"]], by: .role(.admin))
            #expect(try await app.send("DELETE", "/users/alice-in-the-audit").status == 200)
            #expect(try await entries(app).map { $0["action"] }.starts(with: ["user.erased"]))
            let text = try await app.database.column("SELECT e::text FROM audit_entry e", as: String.self).joined()
            #expect(text.contains("{jwks}") && text.contains(app.keyID(.sender)))
            let secrets =
                [secret, "alice-in-the-audit", token, RunningService.adminKey, key["key"].string]
                + RegistryApp.Role.allCases.map { app.key($0) }
            for found in secrets.compactMap(\.self) {
                #expect(!text.lowercased().contains(found.suffix(32).lowercased()))
            }
        }

        @Test func pages_goBack_andFilter() async throws {
            let app = try await RegistryApp.make()
            for number in 0..<5 {
                _ = try await app.send(
                    "PUT", "/topics/t\(number)", ["name": "T", "default": "in"], by: .role(.marketing))
            }
            let all = try await entries(app)
            #expect(all.prefix(5).map { $0["target"] } == ["t4", "t3", "t2", "t1", "t0"])
            var (paged, query) = ([JSON](), "?limit=4")
            while true {
                let page = try await app.send("GET", "/audit\(query)", by: .role(.admin)).json
                paged += page["entries"].array
                guard let next = page["next"].string else { break }
                query = "?limit=4&after=\(next)"
            }
            #expect(paged == all && all.count == 12)
            #expect(try await entries(app, "?action=key.created").count == 6)
            #expect(try await entries(app, "?actor=marketing:\(app.keyID(.marketing))").count == 5)
            #expect(try await entries(app, "?action=key.created&actor=nobody").isEmpty)
            for (query, parameter, code) in [
                ("?limit=0", "limit", "out-of-range"), ("?limit=1001", "limit", "out-of-range"),
                ("?after=x", "after", "invalid-cursor"), ("?after=0", "after", "invalid-cursor"),
                ("?action=key.made", "action", "unknown-value"), ("?surplus=1", "surplus", "unknown-parameter"),
            ] {
                let response = try await app.send("GET", "/audit\(query)", by: .role(.admin))
                #expect(response.status == 400 && response.json["errors"][0]["parameter"].string == parameter)
                #expect(response.json["errors"][0]["code"].string == code, "\(response.text)")
            }
        }

        @Test func entries_areForAdministratorsOfTheApp() async throws {
            let (app, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            for role in RegistryApp.Role.allCases where role != .admin {
                #expect(try await app.send("GET", "/audit", by: .role(role)).status == 403)
            }
            #expect(try await app.send("GET", "/audit", by: .none).status == 401)
            #expect(try await app.send("GET", "/audit", by: .text(other.key(.admin))).code == "unknown-app")
            #expect(try await entries(app, by: .text(RunningService.adminKey)) == entries(app))
            let server = try await app.registry.send("GET", "/v1/audit", key: app.key(.admin))
            #expect(server.status == 403)
        }

        @Test func deletion_isAnEntryOfNoApp() async throws {
            let app = try await RegistryApp.make()
            #expect(try await app.registry.send("DELETE", app.path + "?confirm=\(app.id)").status == 202)
            let found = try await app.registry.send("GET", "/v1/audit?action=app.deleted&limit=1000").json["entries"]
            let entry = try #require(found.array.first { $0["target"].string == app.id })
            #expect(entry["actor"] == "admin" && entry["members"] == [])
        }
    }
}

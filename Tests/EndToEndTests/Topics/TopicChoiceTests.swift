import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Users choose topics, for themselves and on an installation (fine print 47, 48, 89)")
    struct TopicChoiceTests {
        private func app() async throws -> RegistryApp {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            try await app.putTopic("news", isIn: true)
            try await app.putTopic("offers", isIn: false)
            try await app.putTopic("security", isIn: true, isLocked: true)
            return app
        }

        @Test func choice_isResolved_fromInstallationUserAndDefault() async throws {
            let app = try await app()
            _ = try await app.put("phone", as: "alice")
            _ = try await app.put("tablet", as: "alice")
            let list = try await app.send("GET", "/installations/phone/topics").json["topics"].array
            #expect(
                list.first == [
                    "topic": "news", "name": "Topic news", "description": nil, "category": nil, "locked": false,
                    "subscribed": true, "from": "default",
                ])
            #expect(try await app.choices(of: "phone") == "news+default offers-default security+default")
            let patched = try await app.choose(["news": false, "offers": true], user: "alice")
            #expect(patched.topicsText == "news-user offers+user security+default")
            #expect(try await app.choices(of: "tablet") == "news-user offers+user security+default")
            let own = try await app.choose(["news": true, "security": true], on: "phone")
            #expect(own.topicsText == "news+installation offers+user security+default")
            #expect(try await app.choices(of: "tablet") == "news-user offers+user security+default")
            // The user's next choice decides for an installation without a choice.
            _ = try await app.choose(["news": nil, "offers": nil], user: "alice")
            #expect(try await app.choices(of: "phone") == "news+installation offers-default security+default")
            #expect(try await app.choose(["news": nil], on: "phone").topicsText.hasPrefix("news+default"))
            try await app.expectIntact()
        }

        @Test func patch_isAllOrNothing_andReportsEveryFault() async throws {
            let app = try await app()
            _ = try await app.put("phone", as: "alice")
            for path in ["/installations/phone/topics", "/users/alice/topics"] {
                let faulty = try await app.send(
                    "PATCH", path, ["topics": ["offers": true, "nope": nil, "a/b": true, "news": 1, "security": false]])
                #expect(
                    Set(faulty.faults) == [
                        "/topics/nope unknown-topic", "/topics/a~1b unknown-topic", "/topics/news wrong-type",
                    ] && faulty.status == 400)
                let locked = try await app.send("PATCH", path, ["topics": ["offers": true, "security": false]])
                #expect(locked.status == 409 && locked.code == "topic-locked")
                #expect(locked.faults == ["/topics/security topic-locked"])
                #expect(try await app.send("PATCH", path, [:]).faults == ["/topics required"])
                #expect(try await app.send("PATCH", path, ["topics": [true]]).faults == ["/topics wrong-type"])
                #expect(
                    try await app.send("PATCH", path, ["topics": ["security": nil], "more": 1]).faults
                        == ["/more unknown-member"])
                #expect(try await app.send("PATCH", path, ["topics": ["security": nil]]).status == 200)
                #expect(try await app.send("PATCH", path, ["topics": [:]]).status == 200)
            }
            #expect(try await app.choices(of: "phone") == "news+default offers-default security+default")
            #expect(try await app.events(of: "phone").count == 1)
        }

        @Test func choices_areReadAndChanged_onlyByAllowedCallers() async throws {
            let app = try await app()
            _ = try await app.put("phone", as: "alice")
            _ = try await app.put("kiosk")
            let (phone, kiosk, alice) = (
                "/installations/phone/topics", "/installations/kiosk/topics", "/users/alice/topics"
            )
            let body: JSON = ["topics": ["news": false]]
            let (own, other) = (UserJWT.make("alice"), UserJWT.make("bob"))
            let allowed: [(String, [(RegistryApp.Credential, Int, Int)])] = [
                (phone, [(own, 200, 200), (.role(.service), 200, 200), (.role(.support), 200, 403)]),
                (phone, [(other, 404, 404), (.role(.client), 404, 404)]),
                (phone, [(.role(.sender), 403, 403), (.role(.marketing), 403, 403)]),
                (kiosk, [(.role(.client), 200, 200), (own, 404, 404), (.role(.admin), 200, 200)]),
                (alice, [(own, 200, 200), (.role(.service), 200, 200), (.role(.support), 200, 403)]),
                (alice, [(other, 404, 404), (.role(.client), 404, 404), (.role(.marketing), 403, 403)]),
                ("/installations/nobody/topics", [(own, 404, 404), (.role(.service), 404, 404)]),
                ("/users/nobody/topics", [(.role(.service), 200, 200)]),
            ]
            for (path, callers) in allowed {
                for (caller, read, write) in callers {
                    #expect(try await app.send("GET", path, by: caller).status == read, "GET \(path) \(caller)")
                    #expect(try await app.send("PATCH", path, body, by: caller).status == write, "PATCH \(path)")
                }
            }
            let acting = try await app.send("GET", phone, fields: [("X-User-Id", "bob")])
            #expect(acting.status == 404 && acting.code == "unknown-installation")
        }

        @Test func service_thatNamesAUser_reachesOnlyThisUsersChoices() async throws {
            let app = try await app()
            let body: JSON = ["topics": ["news": false]]
            for (method, body) in [("GET", JSON?.none), ("PATCH", body)] {
                let fields = { (user: String) in [("X-User-Id", user)] }
                let other = try await app.send(method, "/users/alice/topics", body, fields: fields("bob"))
                #expect(other.status == 404 && other.code == "unknown-user", "\(method)")
                #expect(try await app.send(method, "/users/alice/topics", body, fields: fields("alice")).status == 200)
                let client = try await app.send(
                    method, "/users/alice/topics", body, by: .role(.client), fields: fields("alice"))
                #expect(client.status == 403, "\(method)")
            }
        }

        @Test func endedCredential_changesNothing() async throws {
            let app = try await app()
            let old = UserJWT.make("alice", age: 60)
            _ = try await app.put("phone", by: UserJWT.make("alice", session: "s", age: 60))
            _ = try await app.send("POST", "/users/alice/logout", [:])
            for path in ["/installations/phone/topics", "/users/alice/topics"] {
                for method in ["GET", "PATCH"] {
                    let body: JSON? = method == "GET" ? nil : ["topics": ["news": false]]
                    let response = try await app.send(method, path, body, by: old)
                    #expect(response.status == 401 && response.code == "credential-ended", "\(method) \(path)")
                }
            }
            #expect(try await app.userChoices("alice").hasPrefix("news+default"))
        }

        @Test func usersChoices_stayAfterALogout_andAreErased() async throws {
            let app = try await app()
            _ = try await app.choose(["offers": true], user: "alice")
            _ = try await app.put("phone", as: "alice")
            #expect(try await app.choices(of: "phone") == "news+default offers+user security+default")
            _ = try await app.choose(["news": false], on: "phone")
            _ = try await app.send("POST", "/installations/phone/logout", ["keepAnonymous": true])
            #expect(try await app.choices(of: "phone") == "news+default offers-default security+default")
            _ = try await app.put("tablet", as: "alice")
            _ = try await app.choose(["news": false], on: "tablet")
            #expect(try await app.choices(of: "tablet") == "news-installation offers+user security+default")
            let receipt = try await app.send("DELETE", "/users/alice").json
            #expect(receipt["topics"] == 2 && receipt["installations"] == 1)
            #expect(try await app.userChoices("alice") == "news+default offers-default security+default")
            #expect(try await app.send("DELETE", "/users/alice").json["topics"] == 0)
            // The feed waits for older transactions, also for those of other tests.
            var left: [JSON] = []
            try await eventually("the feed has all changes of topics") {
                left = try await app.changes()
                return left.count { $0["event"] == "topicsChanged" } == 4
            }
            #expect(left.allSatisfy { $0["userId"] == .null && $0["previousUserId"] == .null })
            #expect(left.allSatisfy { $0["topics"] == .null || $0["topics"] == [] })
            try await app.expectIntact()
        }

        @Test func deletedTopic_hasNoChoices_whenItIsCreatedAgain() async throws {
            let app = try await app()
            _ = try await app.put("phone", as: "alice")
            _ = try await app.choose(["news": false], user: "alice")
            _ = try await app.choose(["offers": true], on: "phone")
            for topic in ["news", "offers"] {
                #expect(try await app.send("DELETE", "/topics/\(topic)", by: .role(.marketing)).status == 204)
            }
            #expect(try await app.choices(of: "phone") == "security+default")
            try await app.putTopic("news", isIn: true)
            #expect(try await app.choices(of: "phone") == "news+default security+default")
            try await app.expectIntact()
        }
    }
}

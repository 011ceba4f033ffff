import EmbeddedPostgres
import Logging
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A session of the console lasts as long as its key, and not longer than it is used")
    struct SessionTests {
        @Test func calls_areThoseOfTheAPI_forTheCallerOfTheSession() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let (support, marketing) = (
                try await ConsoleVisitor.make(.support, of: app), try await ConsoleVisitor.make(.marketing, of: app)
            )
            let path = "/console/v1/apps/\(app.id)"
            let record = try await support.send("GET", path + "/installations/phone")
            #expect(record.json == (try await app.get("phone", by: .role(.support))).json)
            #expect(try await support.send("GET", path + "/users/alice/installations").status == 200)
            #expect(try await support.send("DELETE", path + "/installations/phone").status == 403)
            let count = try await marketing.send("POST", path + "/audience/count", ["filter": [:]])
            #expect(count.status == 200 && count.json["count"] == 1)
            let saved = try await marketing.send("PUT", path + "/segments/s", ["filter": [:]])
            #expect(saved.status == 201)
            let stale = ConsoleVisitor.ownPage + [("If-Match", "\"0\"")]
            #expect(try await marketing.send("PUT", path + "/segments/s", ["filter": [:]], fields: stale).status == 412)
            #expect(try await marketing.send("GET", path + "/installations/phone").status == 403)
            // The session's app only; an unknown one looks the same.
            let other = try await RegistryApp.make()
            #expect(try await marketing.send("GET", "/console/v1/apps/\(other.id)/segments").status == 404)
            #expect(try await marketing.send("GET", "/console/v1/apps").status == 403)
        }

        @Test func call_isA401_whenNobodyIsSignedIn() async throws {
            let app = try await RegistryApp.make()
            let path = "/console/v1/apps/\(app.id)/segments"
            for cookie in ["", "__Host-push-registry=", "__Host-push-registry=short", "other=1"] {
                let visitor = ConsoleVisitor(registry: app.registry, cookie: cookie)
                let response = try await visitor.send("GET", path)
                #expect(response.status == 401 && response.code == "signed-out", "\(cookie)")
                #expect(response["WWW-Authenticate"] != nil)
            }
            let unknown = "__Host-push-registry=" + String(repeating: "A", count: 43)
            #expect(try await ConsoleVisitor(registry: app.registry, cookie: unknown).send("GET", path).status == 401)
            // A key is not read here.
            let bearer = [("Authorization", "Bearer \(app.key(.marketing))")]
            let response = try await ConsoleVisitor(registry: app.registry).send("GET", path, fields: bearer)
            #expect(response.status == 401 && response.code == "signed-out")
        }

        @Test func cookies_areNotRead_byTheAPI() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.admin, of: app)
            let response = try await visitor.send("GET", "/v1/apps/\(app.id)/keys")
            #expect(response.status == 401 && response.code == "missing-credential")
            #expect(try await visitor.send("GET", "/console/v1/apps/\(app.id)/keys").status == 200)
        }

        @Test func cookie_isFound_amongOthers() async throws {
            let app = try await RegistryApp.make()
            var visitor = try await ConsoleVisitor.make(.marketing, of: app)
            visitor.cookie = "theme=dark; \(visitor.cookie); __Host-other=2"
            #expect(try await visitor.session()["roles"] == ["marketing"])
        }

        @Test func revokedKey_endsItsSession_atOnce() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.marketing, of: app)
            #expect(try await visitor.send("GET", "/console/v1/apps/\(app.id)/segments").status == 200)
            let revoked = try await app.send("DELETE", "/keys/\(app.keyID(.marketing))", by: .role(.admin))
            #expect(revoked.status == 204)
            // The clients' connections are spread over the loops of the service.
            for _ in 1...8 {
                let response = try await visitor.send("GET", "/console/v1/apps/\(app.id)/segments")
                #expect(response.status == 401 && response.code == "signed-out")
                #expect(try await visitor.session() == ["roles": []])
            }
        }

        @Test func session_ends_halfAnHourAfterItsLastUse() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.marketing, of: app)
            let path = "/console/v1/apps/\(app.id)/segments"
            try await visitor.age(createdBy: 29, usedBy: 29, in: app.database)
            let before = try await visitor.session()
            // Reading the session does not prolong it; a call does.
            #expect(try await visitor.session()["idleUntil"] == before["idleUntil"])
            #expect(try await visitor.send("GET", path).status == 200)
            let after = try await visitor.session()
            let (earlier, later) = (before["idleUntil"].string ?? "", after["idleUntil"].string ?? "")
            #expect(later > earlier && after["expiresAt"] == before["expiresAt"])
            try await visitor.age(createdBy: 31, usedBy: 31, in: app.database)
            #expect(try await visitor.session() == ["roles": []])
            #expect(try await visitor.send("GET", path).status == 401)
        }

        @Test func endedSession_isForgottenByTheBrowser_andCountsAsNoGuess() async throws {
            let limit = ["PUSH_REGISTRY_FAILED_AUTHENTICATION_RATE": ""]
            try await withRegistry(environment: limit) { registry in
                let app = try await RegistryApp.make(in: registry)
                let ended = try await ConsoleVisitor.make(.marketing, of: app)
                let alive = try await ConsoleVisitor.make(.marketing, of: app)
                let path = "/console/v1/apps/\(app.id)/segments"
                try await ended.age(createdBy: 60, usedBy: 31, in: app.database)
                // More often than an address may fail.
                for _ in 1...150 {
                    let response = try await ended.send("GET", path)
                    #expect(response.status == 401 && response["Set-Cookie"]?.contains("Max-Age=0") == true)
                }
                let session = try await ended.send("GET", "/console/v1/session")
                #expect(session.json == ["roles": []] && session["Set-Cookie"]?.contains("Max-Age=0") == true)
                #expect(try await alive.send("GET", path).status == 200)
                // A guess counts.
                let guess = "__Host-push-registry=" + String(repeating: "A", count: 43)
                let guesser = ConsoleVisitor(registry: registry, cookie: guess)
                var statuses: Set<Int> = []
                for _ in 1...150 { statuses.insert(try await guesser.send("GET", path).status) }
                #expect(statuses == [401, 429])
            }
        }

        @Test func signInAndOut_areInTheAuditLog_withoutSecrets() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.marketing, of: app)
            let actor = "marketing:\(app.keyID(.marketing))"
            try await eventually("the sign-in is logged") {
                app.registry.service.command.log.split(separator: "\n").contains {
                    $0.contains("signed in to the console") && $0.contains(actor)
                }
            }
            #expect(!app.registry.service.command.log.contains(visitor.value))
        }
    }
}

@Suite("A session of the admin key ends with the admin key")
struct AdminSessionTests {
    @Test func session_ends_whenTheServiceGetsAnotherAdminKey_orAnotherServiceHasOne() async throws {
        try await withRegistry { registry in
            let visitor = try await ConsoleVisitor.makeAdmin(in: registry)
            #expect(try await visitor.send("GET", "/console/v1/apps").status == 200)
            let environment = ["PUSH_REGISTRY_ADMIN_KEY": "another admin key of the tests"]
            try await registry.withOtherService(environment: environment) { other in
                let moved = ConsoleVisitor(registry: other, cookie: visitor.cookie)
                let (session, apps) = (try await moved.session(), try await moved.send("GET", "/console/v1/apps"))
                #expect(session == ["roles": []] && apps.status == 401)
            }
            // A service with the same key knows the session.
            try await registry.withOtherService { same in
                let moved = ConsoleVisitor(registry: same, cookie: visitor.cookie)
                let session = try await moved.session()
                #expect(session["roles"] == ["admin"])
            }
        }
    }
}

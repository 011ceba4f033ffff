import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("People sign in to the console with a key, which the browser does not keep")
struct SignInTests {
    @Test func session_hasTheRolesOfItsKey_andEndsBySigningOut() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            for role in RegistryApp.Role.allCases where role != .client {
                var visitor = ConsoleVisitor(registry: registry)
                #expect(try await visitor.session() == ["roles": []])
                let body: JSON = ["app": .string(app.id), "key": .string(app.key(role))]
                let response = try await visitor.signIn(body)
                #expect(response.status == 200 && response["Cache-Control"] == "no-store")
                #expect(!response.text.contains("prk_") && !response.text.contains(visitor.value))
                let session = try await visitor.session()
                #expect(session == response.json)
                #expect(session["app"].string == app.id && session["name"].string == role.rawValue)
                #expect(session["roles"] == [.string(role.rawValue)])
                #expect(session["expiresAt"].string != nil && session["idleUntil"].string != nil)
                let other = try await visitor.send("GET", "/console/v1/apps/\(app.id)/segments")
                #expect(other.status == ([.marketing, .sender, .admin].contains(role) ? 200 : 403), "\(role)")
                let end = try await visitor.send("DELETE", "/console/v1/session")
                #expect(end.status == 204 && end["Set-Cookie"]?.contains("Max-Age=0") == true)
                #expect(try await visitor.session() == ["roles": []])
                #expect(try await visitor.send("DELETE", "/console/v1/session").status == 204)
            }
            #expect(try await registry.database.count("SELECT count(*) FROM console_session") == 0)
        }
    }

    @Test func cookie_isForThisHost_overTLS_andForTheServerAlone() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            var visitor = ConsoleVisitor(registry: registry)
            let response = try await visitor.signIn(["app": .string(app.id), "key": .string(app.key(.marketing))])
            let parts = try #require(response["Set-Cookie"]).components(separatedBy: "; ")
            #expect(parts.first?.wholeMatch(of: /__Host-push-registry=[A-Za-z0-9_-]{43}/) != nil)
            #expect(Set(parts.dropFirst()) == ["Path=/", "HttpOnly", "Secure", "SameSite=Strict"])
            // The database has no value that signs in, and no log line has one.
            let stored = try await registry.database.column(
                "SELECT console_session::text FROM console_session", as: String.self)
            #expect(stored.count == 1 && !stored[0].contains(visitor.value))
            #expect(!registry.service.command.log.contains(visitor.value))
        }
    }

    @Test func adminKey_signsInToAllApps() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            let visitor = try await ConsoleVisitor.makeAdmin(in: registry)
            let session = try await visitor.session()
            #expect(session["app"] == nil && session["roles"] == ["admin"] && session["name"] == "admin")
            #expect(try await visitor.send("GET", "/console/v1/apps").json["apps"].array.count == 1)
            #expect(try await visitor.send("GET", "/console/v1/apps/\(app.id)/keys").status == 200)
        }
    }

    @Test func wrongKeys_areRefused_withoutSayingWhatWasWrong() async throws {
        try await withRegistry { registry in
            let (app, other) = (try await RegistryApp.make(in: registry), try await RegistryApp.make(in: registry))
            let marketing = app.key(.marketing)
            _ = try await registry.send("DELETE", "/v1/apps/\(app.id)/keys/\(app.keyID(.sender))")
            let wrong: [JSON] = [
                ["app": .string(app.id), "key": "nonsense"],
                ["app": .string(app.id), "key": .string(String(marketing.dropLast()) + "x")],
                ["app": .string(other.id), "key": .string(marketing)],
                ["app": "com.example.nobody", "key": .string(marketing)],
                ["app": "no app", "key": .string(marketing)],
                ["app": .string(app.id), "key": .string(app.key(.sender))],
                ["code": "0000000000000000000000000000000000000000000000000000000000000000"],
            ]
            var visitor = ConsoleVisitor(registry: registry)
            for body in wrong {
                let response = try await visitor.signIn(body)
                #expect(response.status == 401 && response.code == "invalid-credential", "\(body.text)")
                #expect(response["Set-Cookie"] == nil)
            }
            let published = try await visitor.signIn(["app": .string(app.id), "key": .string(app.key(.client))])
            #expect(published.status == 403 && published.code == "forbidden" && published["Set-Cookie"] == nil)
            #expect(published.json["detail"].string?.contains("may be published") == true)
            let jwt: JSON = ["app": .string(app.id), "key": "a.b.c"]
            #expect(try await visitor.signIn(jwt).status == 401)
            for body: JSON in [[:], ["app": "x"], ["key": 1], ["code": []], 3] {
                #expect(try await visitor.signIn(body).status == 400, "\(body.text)")
            }
            #expect(try await registry.database.count("SELECT count(*) FROM console_session") == 0)
        }
    }

    @Test func guesses_areLimited_andTheRightKeyAlwaysSignsIn() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            for _ in 1...30 { _ = try await ConsoleVisitor.make(.marketing, of: app) }
            var visitor = ConsoleVisitor(registry: registry)
            var statuses: [Int] = []
            for _ in 1...12 { statuses.append(try await visitor.signIn(["key": "a wrong admin key"]).status) }
            #expect(statuses.prefix(10).allSatisfy { $0 == 401 } && statuses.contains(429), "\(statuses)")
            let refused = try await visitor.signIn(["key": "a wrong admin key"])
            #expect(refused.status == 429 && refused.code == "too-many-failed-authentications")
            // Nobody is locked out by the guesses of a neighbour.
            let admin = try await visitor.signIn(["key": .string(RunningService.adminKey)])
            #expect(admin.status == 200)
            _ = try await ConsoleVisitor.make(.marketing, of: app)
            let wait = try #require(refused["Retry-After"].flatMap { Int($0) })
            #expect((1...10).contains(wait))
            #expect(try await app.send("GET", "/segments", by: .role(.marketing)).status == 200)
        }
    }

    @Test func newSignIn_endsTheBrowsersFormerSession() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            var visitor = try await ConsoleVisitor.make(.marketing, of: app)
            let former = visitor
            let response = try await visitor.signIn(["app": .string(app.id), "key": .string(app.key(.support))])
            #expect(response.status == 200 && visitor.cookie != former.cookie)
            #expect(try await former.session() == ["roles": []])
            #expect(try await visitor.session()["roles"] == ["support"])
        }
    }
}

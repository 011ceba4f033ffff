import EmbeddedPostgres
import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("People sign in to the console by an identity provider, and their groups give them roles")
struct ProviderSignInTests {
    private static let groups: JSON = ["consoleGroups": ["marketers": "marketing", "helpers": "support"]]

    /// Lends a provider, a registry that trusts it, and an app whose policy gives groups roles.
    private func withProvider(
        policy: JSON = Self.groups, _ body: (FakeProvider, RegistryApp) async throws -> Void
    ) async throws {
        let provider = try FakeProvider()
        try await withRegistry(environment: provider.environment()) { registry in
            try await body(provider, try await RegistryApp.make(in: registry, policy: policy))
        }
    }

    @Test func person_hasTheRolesOfTheirGroups_andIsNamedInTheAuditLog() async throws {
        try await withProvider { provider, app in
            var visitor = ConsoleVisitor(registry: app.registry)
            #expect(
                try await visitor.session() == [
                    "roles": [], "provider": ["issuer": .string(provider.issuer), "groupsClaim": "groups"],
                ])
            let begun = try await visitor.beginSignIn()
            let request = FakeProvider.fields(String(begun.location.drop { $0 != "?" }.dropFirst()))
            #expect(begun.location.hasPrefix(provider.issuer + "/authorize?tenant=1&response_type=code&"))
            #expect(request["code_challenge_method"] == "S256" && request["scope"] == "openid profile email")
            #expect(request["redirect_uri"] == "http://localhost/console/v1/signed-in")
            #expect(
                Set(begun.cookie.split(separator: "; ").dropFirst()) == [
                    "Path=/", "HttpOnly", "Secure", "SameSite=Lax", "Max-Age=600",
                ])
            let response = try await visitor.endSignIn(begun, provider.response(to: begun.location))
            #expect(response.status == 303 && response["Location"] == "../" && response.body.isEmpty)
            let session = try await visitor.session()
            #expect(session["app"].string == app.id && session["roles"] == ["marketing"] && session["name"] == "Ada")
            let path = "/console/v1/apps/\(app.id)"
            let count = try await visitor.send("POST", path + "/audience/count", ["filter": [:]])
            #expect(count.status == 200, "\(count.text)")
            #expect(try await visitor.send("GET", path + "/installations/phone").status == 403)
            #expect(try await visitor.send("GET", "/console/v1/apps").status == 403)
            let caller = try await visitor.send("GET", path + "/caller").json
            #expect(caller == ["roles": ["marketing"], "name": "Ada"])
            _ = try await visitor.send("PUT", path + "/segments/s", ["filter": [:]])
            try await eventually("the audit log names the person") {
                let lines = app.registry.service.command.log.split(separator: "\n").filter {
                    $0.contains("person:ada-1") && $0.contains("Ada")
                }
                return ["signed in to the console", "segment saved"].allSatisfy { message in
                    lines.contains { $0.contains(message) }
                }
            }
            let entry = try await app.send("GET", "/audit?limit=1", by: .role(.admin)).json["entries"].array.first
            #expect(entry?["action"] == "segment.saved" && entry?["actor"] == "person:ada-1")
            #expect(entry?["actorName"] == "Ada" && entry?["roles"] == ["marketing"])
            let log = app.registry.service.command.log
            #expect(!log.contains(visitor.value) && !log.contains(request["state"] ?? "") && !log.contains("eyJ"))
            let end = try await visitor.send("DELETE", "/console/v1/session")
            #expect(end.status == 204)
            #expect(try await visitor.session()["roles"] == [])
        }
    }

    @Test func policy_appliesAtOnce() async throws {
        try await withProvider { provider, app in
            let visitor = try await ConsoleVisitor.make(by: provider, in: app.registry)
            let path = "/console/v1/apps/\(app.id)/segments"
            #expect(try await visitor.send("GET", path).status == 200)
            _ = try await app.send("PATCH", "", ["consoleGroups": ["marketers": "support"]], by: .role(.admin))
            #expect(try await visitor.send("GET", path).status == 403)
            #expect(try await visitor.session()["roles"] == ["support"])
            _ = try await app.send("PATCH", "", ["consoleGroups": ["marketers": .null]], by: .role(.admin))
            // The connections are spread over the loops of the service.
            for _ in 1...8 {
                let response = try await visitor.send("GET", path)
                #expect(response.status == 401 && response.code == "signed-out")
                #expect(try await visitor.session()["roles"] == [])
            }
        }
    }

    @Test func session_staysEnded_whenItsGroupHasARoleAgain() async throws {
        try await withProvider { provider, app in
            let path = "/console/v1/apps/\(app.id)/segments"
            let calling = try await ConsoleVisitor.make(by: provider, in: app.registry)
            let looking = try await ConsoleVisitor.make(by: provider, in: app.registry)
            _ = try await app.send("PATCH", "", ["consoleGroups": ["marketers": .null]], by: .role(.admin))
            #expect(try await calling.send("GET", path).code == "signed-out")
            #expect(try await looking.session()["roles"] == [])
            _ = try await app.send("PATCH", "", ["consoleGroups": ["marketers": "admin"]], by: .role(.admin))
            for visitor in [calling, looking] {
                #expect(try await visitor.send("GET", path).code == "signed-out")
                #expect(try await visitor.session()["roles"] == [])
            }
            let visitor = try await ConsoleVisitor.make(by: provider, in: app.registry)
            #expect(try await visitor.session()["roles"] == ["admin"])
        }
    }

    @Test func personOfSeveralApps_hasTheRolesOfEach() async throws {
        try await withProvider { provider, app in
            let other = try await RegistryApp.make(
                in: app.registry, policy: ["consoleGroups": ["marketers": "support", "others": "admin"]])
            let foreign = try await RegistryApp.make(in: app.registry)
            let visitor = try await ConsoleVisitor.make(by: provider, in: app.registry)
            let grants: [JSON] = [
                ["app": .string(app.id), "roles": ["marketing"]],
                ["app": .string(other.id), "roles": ["admin", "support"]],
            ]
            let session = try await visitor.session()
            #expect(Set(session["apps"].array) == Set(grants) && session["app"] == .null)
            #expect(session["roles"] == ["admin", "marketing", "support"])
            for (app, status) in [(app, 403), (other, 200), (foreign, 404)] {
                #expect(try await visitor.send("GET", "/console/v1/apps/\(app.id)/keys").status == status)
            }
            #expect(try await visitor.send("PUT", "/console/v1/apps/\(foreign.id)", [:]).status == 404)
            #expect(try await visitor.send("PUT", "/console/v1/apps/com.example.new", [:]).status == 404)
            // Runs of all apps are for those who administrate all.
            #expect(try await visitor.send("GET", "/console/v1/cleanup/runs").status == 403)
        }
    }

    @Test func operators_haveTheRightsOfTheAdminKey() async throws {
        try await withProvider { provider, app in
            provider.change { $0.claims = ["groups": "operators"] }
            let visitor = try await ConsoleVisitor.make(by: provider, in: app.registry)
            let session = try await visitor.session()
            #expect(session["app"] == .null && session["apps"] == .null && session["roles"] == ["admin"])
            #expect(try await visitor.send("GET", "/console/v1/apps").json["apps"].array.count == 1)
            #expect(try await visitor.send("PUT", "/console/v1/apps/com.example.new", [:]).status == 201)
            #expect(try await visitor.send("GET", "/console/v1/cleanup/runs").status == 200)
        }
    }

    @Test func person_isRefused_ifNoGroupHasARole() async throws {
        try await withProvider { provider, app in
            for groups: JSON in [["strangers"], [], .null] {
                provider.change { $0.claims = ["groups": groups] }
                let visitor = ConsoleVisitor(registry: app.registry)
                #expect(try await visitor.signIn(by: provider)["Location"] == "../#sign-in=no-role")
            }
            try await eventually("the audit log says who was refused") {
                app.registry.service.command.log.split(separator: "\n").contains {
                    $0.contains("refused") && $0.contains("person:ada-1")
                }
            }
            #expect(try await app.database.count("SELECT count(*) FROM console_session") == 0)
        }
    }

    @Test func response_isRefused_unlessItIsToTheSignInOfThisBrowser() async throws {
        try await withProvider { provider, app in
            let visitor = ConsoleVisitor(registry: app.registry)
            let (one, other) = (try await visitor.beginSignIn(), try await visitor.beginSignIn())
            let query = provider.response(to: one.location)
            let code = FakeProvider.fields(query)["code"] ?? ""
            for (query, cookie) in [
                (query, other.cookie), (query, ""), (query, "__Host-push-registry-sign-in=AAAA"),
                ("code=\(code)", one.cookie), ("code=\(code)&state=", one.cookie),
                ("code=\(code)&state=AAAA", one.cookie), (query + "&iss=https%3A%2F%2Fother.example", one.cookie),
                ("state=\(FakeProvider.fields(query)["state"] ?? "")", one.cookie),
            ] {
                let response = try await visitor.callback(query, cookie: cookie)
                #expect(response["Location"] == "../#sign-in=failed", "\(query)")
                #expect(
                    response.fields.filter { $0.name == "Set-Cookie" }.allSatisfy { $0.value.contains("Max-Age=0") })
            }
            // None of these has used the code up.
            let right =
                query + "&iss=" + (provider.issuer.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
            #expect(try await visitor.callback(right, cookie: one.cookie)["Location"] == "../")
            // Neither the response nor the provider's memory makes a second session.
            #expect(try await visitor.callback(right, cookie: one.cookie)["Location"] == "../#sign-in=failed")
            #expect(try await app.database.count("SELECT count(*) FROM console_session") == 1)
        }
    }

    @Test func signIn_makesOneSession_alsoIfTheProviderTakesACodeTwice() async throws {
        try await withProvider { provider, app in
            provider.change { $0.forgetsCodes = true }
            let visitor = ConsoleVisitor(registry: app.registry)
            let begun = try await visitor.beginSignIn()
            let query = provider.response(to: begun.location)
            #expect(try await visitor.callback(query, cookie: begun.cookie)["Location"] == "../")
            #expect(try await visitor.callback(query, cookie: begun.cookie)["Location"] == "../#sign-in=failed")
            #expect(try await app.database.count("SELECT count(*) FROM console_session") == 1)
        }
    }

    @Test func idToken_isRefused_ifItIsNotOfTheProvider_forThisClientAndThisAttempt() async throws {
        try await withProvider { provider, app in
            let wrong: [(reason: String, change: (inout FakeProvider.Changes) -> Void)] = [
                ("wrongNonce", { $0.claims = ["nonce": "other"] }), ("wrongNonce", { $0.claims = ["nonce": .null] }),
                ("wrongIssuer", { $0.claims = ["iss": "https://other.example"] }),
                ("wrongIssuer", { $0.claims = ["iss": .string(provider.issuer + "/")] }),
                ("wrongAudience", { $0.claims = ["aud": "other"] }),
                ("wrongAuthorizedParty", { $0.claims = ["aud": ["other", .string(FakeProvider.clientID)]] }),
                ("wrongAuthorizedParty", { $0.claims = ["azp": "other"] }),
                ("expired", { $0.claims = ["exp": 1_700_000_000] }), ("missingExpiry", { $0.claims = ["exp": .null] }),
                ("missingIssueTime", { $0.claims = ["iat": .null] }),
                ("no iat", { $0.claims = ["iat": .null, "sid": "1"] }),
                ("notYetValid", { $0.claims = ["iat": 4_000_000_000] }),
                ("invalidUser", { $0.claims = ["sub": .null] }),
                ("unsupportedAlgorithm", { $0.header = ["alg": "none"] }),
                ("unsupportedAlgorithm", { $0.header = ["alg": "PS256"] }),
                ("unknownKey", { $0.header = ["alg": "HS256"] }), ("unknownKey", { $0.header = ["kid": "other"] }),
                ("badSignature", { $0.isSignedByAnotherKey = true }),
                ("is no list of names", { $0.claims = ["groups": ["a": 1]] }),
                ("no ID token", { $0.tokens = .init(body: "{}") }),
                ("the response has the status 400", { $0.tokens = .init(400) }),
                ("more than 262144 bytes", { $0.tokens = .init(body: String(repeating: " ", count: 300_000)) }),
            ]
            // The keys are known: `alg` is looked at.
            _ = try await ConsoleVisitor.make(by: provider, in: app.registry)
            for (reason, change) in wrong {
                provider.change(change)
                let response = try await ConsoleVisitor(registry: app.registry).signIn(by: provider)
                #expect(response["Location"] == "../#sign-in=failed", "\(reason)")
                try await eventually("the audit log has the reason \(reason)") {
                    app.registry.service.command.log.split(separator: "\n").last {
                        $0.contains("authentication failed")
                    }?.contains(reason) == true
                }
            }
            #expect(try await app.database.count("SELECT count(*) FROM console_session") == 1)
        }
    }

    @Test func manyGroups_fitIntoATokenAndASession() async throws {
        try await withProvider { provider, app in
            let many = (1...500).map { JSON.string("0f8fad5b-d9cb-469f-a165-7086\($0 + 10_000_000)") }
            provider.change {
                $0.claims = ["groups": .array(many + ["helpers"]), "name": .null, "email": "ada@example.com"]
            }
            let visitor = try await ConsoleVisitor.make(by: provider, in: app.registry)
            let session = try await visitor.session()
            #expect(session["roles"] == ["support"] && session["name"] == "ada@example.com")
        }
    }

    @Test func errorOfTheProvider_isANoticeOfThePage() async throws {
        try await withProvider { provider, app in
            for (error, notice) in [
                ("access_denied", "denied"), ("login_required", "failed"), ("%0AInjected", "failed"),
            ] {
                let visitor = ConsoleVisitor(registry: app.registry)
                let begun = try await visitor.beginSignIn()
                let state = FakeProvider.fields(provider.response(to: begun.location))["state"] ?? ""
                let response = try await visitor.callback("error=\(error)&state=\(state)", cookie: begun.cookie)
                #expect(response["Location"] == "../#sign-in=\(notice)")
                // An error that anybody wrote is none of the provider.
                let forged = try await visitor.callback("error=\(error)", cookie: begun.cookie)
                #expect(forged["Location"] == "../#sign-in=failed")
            }
            #expect(!app.registry.service.command.log.contains("Injected"))
        }
    }

    @Test(arguments: ["oversized", "slow", "missing", "of another issuer", "with a foreign endpoint"])
    func keysSignIn_whileTheProviderFails(how: String) async throws {
        try await withProvider { provider, app in
            switch how {
            case "oversized": provider.setDiscovery(.init(body: String(repeating: " ", count: 300_000)))
            case "slow": provider.setDiscovery(.never)
            case "missing": provider.setDiscovery(.init(404))
            case "of another issuer": provider.change { $0.metadata = ["issuer": .string(provider.issuer + "/")] }
            default: provider.change { $0.metadata = ["token_endpoint": "http://login.example.com/token"] }
            }
            let visitor = ConsoleVisitor(registry: app.registry)
            for _ in 1...3 {
                let response = try await visitor.send("GET", "/console/v1/sign-in")
                #expect(response.status == 303 && response["Location"] == "../#sign-in=unavailable")
                #expect(response["Set-Cookie"] == nil)
            }
            #expect(provider.requests == 1)
            try await eventually("the log has the reason") {
                app.registry.service.command.log.contains("people cannot sign in to the console")
            }
            _ = try await ConsoleVisitor.make(.marketing, of: app)
        }
    }

    @Test func sessions_end_whenTheServiceGetsAnotherProvider() async throws {
        try await withProvider { provider, app in
            let visitor = try await ConsoleVisitor.make(by: provider, in: app.registry)
            for environment in [try FakeProvider().environment(), [:]] {
                try await app.registry.withOtherService(environment: environment) { other in
                    let moved = ConsoleVisitor(registry: other, cookie: visitor.cookie)
                    let session = try await moved.session()
                    #expect(session["roles"] == [])
                }
            }
            #expect(try await visitor.session()["roles"] == ["marketing"])
        }
    }

    @Test func signIns_areLimited() async throws {
        try await withProvider { provider, app in
            let visitor = ConsoleVisitor(registry: app.registry)
            var notices: Set<String?> = []
            for _ in 1...40 { notices.insert(try await visitor.signIn(by: provider)["Location"]) }
            #expect(notices == ["../", "../#sign-in=too-many"])
        }
    }

    @Test func signIn_isUnavailable_withoutAProvider() async throws {
        try await withRegistry { registry in
            let visitor = ConsoleVisitor(registry: registry)
            for path in ["sign-in", "signed-in"] {
                let response = try await visitor.send("GET", "/console/v1/\(path)")
                #expect(response.status == 303 && response["Location"] == "../#sign-in=unavailable")
            }
        }
    }
}

extension ConsoleVisitor {
    /// A sign-in that the service has led to the provider.
    struct BegunSignIn {
        let location: String
        /// The field `Set-Cookie`.
        let cookie: String
    }

    func beginSignIn() async throws -> BegunSignIn {
        let response = try await send("GET", "/console/v1/sign-in")
        #expect(response.status == 303)
        return BegunSignIn(location: response["Location"] ?? "", cookie: response["Set-Cookie"] ?? "")
    }

    /// Opens the address to which a provider leads the browser back.
    ///
    /// - Parameter cookie: a field `Set-Cookie`.
    func callback(_ query: String, cookie: String) async throws -> HTTPResponse {
        // A browser sends no strict cookie along with a navigation from another site.
        let pair = String(cookie.prefix { $0 != ";" })
        return try await ConsoleVisitor(registry: registry, cookie: pair).send(
            "GET", "/console/v1/signed-in?" + query, fields: [("Sec-Fetch-Site", "cross-site")])
    }

    mutating func endSignIn(_ begun: BegunSignIn, _ query: String) async throws -> HTTPResponse {
        let response = try await callback(query, cookie: begun.cookie)
        let pairs = response.fields.filter { $0.name == "Set-Cookie" }.map { String($0.value.prefix { $0 != ";" }) }
        #expect(pairs.contains("__Host-push-registry-sign-in="))
        cookie = pairs.first { $0.hasPrefix("__Host-push-registry=") } ?? ""
        return response
    }

    func signIn(by provider: FakeProvider) async throws -> HTTPResponse {
        let begun = try await beginSignIn()
        return try await callback(provider.response(to: begun.location), cookie: begun.cookie)
    }

    /// Signs in by a provider.
    static func make(by provider: FakeProvider, in registry: Registry) async throws -> ConsoleVisitor {
        var visitor = ConsoleVisitor(registry: registry)
        let begun = try await visitor.beginSignIn()
        let response = try await visitor.endSignIn(begun, provider.response(to: begun.location))
        #expect(response["Location"] == "../", "\(response["Location"] ?? "")")
        return visitor
    }
}

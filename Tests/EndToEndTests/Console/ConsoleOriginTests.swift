import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Only the console's own page acts with its session")
    struct ConsoleOriginTests {
        /// What browsers send with requests of other pages, and of no page.
        private static let foreign: [[(String, String)]] = [
            [], [("Sec-Fetch-Site", "none")], [("Sec-Fetch-Site", "same-site")], [("Sec-Fetch-Site", "cross-site")],
            [("Sec-Fetch-Site", "cross-site"), ("Origin", "http://localhost")],
            [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "")],
            [("Origin", "http://evil.example")], [("Origin", "null")], [("Origin", "https://localhost")],
            [("Origin", "http://localhost:1")], [("Origin", "")],
        ]

        @Test func unsafeCalls_areRefused_fromOtherPages_theSignInIncluded() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.admin, of: app)
            let path = "/console/v1/apps/\(app.id)"
            let key: JSON = ["app": .string(app.id), "key": .string(app.key(.admin))]
            let calls: [(method: String, path: String, body: JSON?)] = [
                ("POST", "/console/v1/session", key), ("DELETE", "/console/v1/session", nil),
                ("POST", path + "/audience/count", ["filter": [:]]),
                ("POST", path + "/audience/export", ["filter": [:]]),
                ("PUT", path + "/segments/s", ["filter": [:]]), ("PATCH", path, ["grace": "P5D"]),
                ("DELETE", path + "/installations/phone", nil),
            ]
            for fields in Self.foreign {
                for call in calls {
                    let response = try await visitor.send(call.method, call.path, call.body, fields: fields)
                    #expect(response.status == 403 && response.code == "foreign-page", "\(call.method) \(fields)")
                    #expect(response["Set-Cookie"] == nil)
                }
            }
            #expect(try await visitor.session()["roles"] == ["admin"])
            #expect(try await app.send("GET", "/segments", by: .role(.admin)).json["segments"] == [])
        }

        @Test func unsafeCalls_areAccepted_fromTheOwnPage() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.marketing, of: app)
            let path = "/console/v1/apps/\(app.id)/audience/count"
            for host in ["localhost", "localhost:8080", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST"] {
                for fields in [ConsoleVisitor.ownPage, [("Origin", "http://\(host.lowercased())")]] {
                    let response = try await visitor.send("POST", path, ["filter": [:]], fields: fields, host: host)
                    #expect(response.status == 200, "\(host) \(fields)")
                }
            }
        }

        /// DNS rebinding: another site's name resolves to this machine.
        @Test func plainHTTP_isServed_onlyByANameOfThisMachine() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.marketing, of: app)
            let hosts = [
                "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1",
                "127.0.0.2", "[::2]", "localhostx",
            ]
            for host in hosts {
                for path in ["/console/", "/console", "/console/v1/session", "/console/v1/apps/\(app.id)/segments"] {
                    let response = try await visitor.send("GET", path, host: host)
                    #expect(response.status == 403 && response.code == "foreign-host", "\(host) \(path)")
                }
                let own = [("Origin", "http://\(host)")]
                let signIn = try await visitor.send("POST", "/console/v1/session", [:], fields: own, host: host)
                #expect(signIn.status == 403 && signIn.code == "foreign-host")
            }
            // The API has no such rule: it takes no cookie.
            let count = HTTPRequest.make("GET", "/v1/apps/\(app.id)/segments", key: app.key(.marketing))
            #expect(try await visitor.send(count, host: "push.example.com").status == 200)
        }

        /// Without a page's permission, no other page reads a response.
        @Test func console_sharesNothing_withOtherOrigins() async throws {
            let app = try await RegistryApp.make(policy: ["allowedOrigins": ["*"]])
            let visitor = try await ConsoleVisitor.make(.marketing, of: app)
            let fields = [("Origin", "https://www.example.com"), ("Access-Control-Request-Method", "GET")]
            for method in ["GET", "OPTIONS"] {
                let path = "/apps/\(app.id)/segments"
                let console = try await visitor.send(method, "/console/v1" + path, fields: fields)
                #expect(console.fields.allSatisfy { !$0.name.hasPrefix("Access-Control-") })
                let api = try await visitor.send(method, "/v1" + path, fields: fields)
                #expect(api["Access-Control-Allow-Origin"] == "https://www.example.com")
            }
        }
    }
}

@Suite("Behind a proxy that ends TLS, the console's origin is a setting")
struct ConfiguredOriginTests {
    @Test func unsafeCalls_areAccepted_fromTheConfiguredOrigin_whateverTheProxySendsAsHost() async throws {
        let environment = ["PUSH_REGISTRY_CONSOLE_ORIGIN": "https://Push.example.com:443"]
        try await withRegistry(environment: environment) { registry in
            let app = try await RegistryApp.make(in: registry)
            let body: JSON = ["app": .string(app.id), "key": .string(app.key(.marketing))]
            let visitor = ConsoleVisitor(registry: registry)
            let origins = [
                ("https://push.example.com", 200), ("http://push.example.com", 403), ("https://evil.example", 403),
                ("http://internal:8080", 403),
            ]
            for (origin, status) in origins {
                let response = try await visitor.send(
                    "POST", "/console/v1/session", body, fields: [("Origin", origin)], host: "internal:8080")
                #expect(response.status == status, "\(origin)")
            }
            #expect(try await visitor.send("GET", "/console/", host: "internal:8080").status == 200)
        }
    }

    @Test(arguments: ["http://push.example.com", "push.example.com", "https://push.example.com/console", "https://"])
    func otherTexts_areRefused_asASetting(text: String) async throws {
        let result = try await RegistryCommand.run(
            ["serve", "--console-origin", text], environment: ["PUSH_REGISTRY_DATABASE_URL": "host=/nowhere"])
        #expect(result.status == 64 && result.log.contains("console origin"), "\(result.log)")
    }
}

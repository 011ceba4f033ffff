import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

/// Each test has a registry of its own, because all clients of a test have one address.
@Suite("Only guesses count as failed authentications, and a verified credential always passes")
struct FailedAuthenticationTests {
    /// More calls than an address may fail by default.
    private static let calls = 150
    private static let defaults = ["PUSH_REGISTRY_FAILED_AUTHENTICATION_RATE": ""]
    private static let strict = [
        "PUSH_REGISTRY_FAILED_AUTHENTICATION_RATE": "1", "PUSH_REGISTRY_FAILED_AUTHENTICATION_BURST": "3",
    ]
    private static let guess = "prk_0000000000000000_1"

    /// The statuses of calls with a credential.
    private func statuses(
        _ app: RegistryApp, _ credential: RegistryApp.Credential, fields: [(String, String)] = []
    ) async throws -> Set<Int> {
        var statuses: Set<Int> = []
        for _ in 1...Self.calls {
            statuses.insert(
                try await app.send("GET", "/installations/phone", by: credential, fields: fields).status)
        }
        return statuses
    }

    /// For example those of an image in a web page that somebody behind the address visits.
    @Test func callsWithoutCredential_lockNobodyOut() async throws {
        try await withRegistry(environment: Self.defaults) { registry in
            let app = try await RegistryApp.make(in: registry)
            #expect(try await statuses(app, .none) == [401])
            #expect(try await statuses(app, .none, fields: [("Authorization", "Basic YTpi")]) == [401])
            #expect(try await app.put("phone").status == 201)
        }
    }

    @Test func endedCredentials_areNoGuesses() async throws {
        try await withRegistry(environment: Self.defaults) { registry in
            let app = try await RegistryApp.make(in: registry, policy: UserJWT.policy)
            let ended = try await app.phone("phone", as: "alice")
            _ = try await app.put("phone", as: "bob")
            _ = try await app.send("DELETE", "/keys/\(app.keyID(.sender))", by: .role(.admin))
            #expect(try await statuses(app, UserJWT.make("alice", life: -60)) == [401])
            #expect(try await statuses(app, .role(.sender)) == [401])
            #expect(try await statuses(app, .role(.marketing)) == [403])
            for _ in 1...Self.calls { #expect(try await app.fetch("phone", by: ended).status == 401) }
            #expect(try await app.get("phone", by: .text(Self.guess)).status == 401)
        }
    }

    @Test func verifiedCredential_passes_whenItsNeighboursGuess() async throws {
        try await withRegistry(environment: Self.strict) { registry in
            let app = try await RegistryApp.make(in: registry, policy: UserJWT.policy)
            let alice = UserJWT.make("alice")
            let marketing = try await ConsoleVisitor.make(.marketing, of: app)
            let deliveryKey = try await app.phone("phone", as: "alice")
            let forged = UserJWT.make("alice", life: 901).changed
            let cookie = "__Host-push-registry=" + String(repeating: "A", count: 43)
            let guesser = ConsoleVisitor(registry: registry, cookie: cookie)
            let path = "/console/v1/apps/\(app.id)/segments"
            for _ in 1...10 {
                _ = try await app.get("phone", by: .text(Self.guess))
                _ = try await guesser.send("GET", path)
                let refused = try await app.get("phone", by: forged)
                guard refused.status == 429 else { continue }
                #expect(refused.code == "too-many-failed-authentications" && refused["Retry-After"] == "1")
                #expect(try await app.get("phone", by: .none).status == 401)
                #expect(try await app.get("phone").status == 200)
                #expect(try await app.get("phone", by: alice).status == 200)
                #expect(try await app.fetch("phone", by: deliveryKey).status == 200)
                #expect(try await registry.send("GET", "/v1/apps").status == 200)
                #expect(try await marketing.send("GET", path).status == 200)
                return
            }
            Issue.record("no guess was refused")
        }
    }

    /// Else the text would tell which apps a registry has, and what is wrong with them.
    @Test func unverifiedCredentials_haveOneText() async throws {
        try await withRegistry { registry in
            let (plain, signing) = (
                try await RegistryApp.make(in: registry),
                try await RegistryApp.make(in: registry, policy: UserJWT.policy)
            )
            let broken = try await RegistryApp.make(in: registry)
            _ = try await broken.database.rows(
                #"UPDATE app SET policy = '{"grace": "PT1H"}' WHERE identifier = \#(broken.id)"#)
            let jwt = UserJWT.make("alice")
            var texts: Set<String> = []
            for credential in [jwt.changed, .text("a.b.c"), .text("nonsense"), .text(Self.guess)] {
                for id in [plain.id, signing.id, "com.example.nobody"] {
                    let request = plain.request("GET", "/installations/phone", by: credential)
                    let path = "/v1/apps/\(id)/installations/phone"
                    let response = try await plain.registry.send("GET", path, key: nil, fields: request.fields)
                    #expect(response.status == 401, "\(id): \(response.text)")
                    texts.insert(response.json["detail"].string ?? "")
                }
            }
            #expect(texts.count == 1)
            let unverified = try await broken.get("phone", by: jwt)
            #expect(unverified.status == 503 && !unverified.text.contains("grace"))
            #expect(try await broken.get("phone").text.contains("grace"))
            let expired = try await signing.get("phone", by: UserJWT.make("alice", life: -60))
            #expect(expired.json["detail"] == "The JWT has expired.")
        }
    }

    /// Preflights have no credential, and no limit.
    @Test func callsFromPages_doNotReadTheDatabase_eachTime() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(
                in: registry, policy: ["allowedOrigins": ["https://shop.example"]])
            let origin = [("Origin", "https://shop.example"), ("Access-Control-Request-Method", "PUT")]
            let before = try await Self.statements(of: registry)
            for _ in 1...200 {
                for method in ["OPTIONS", "GET"] {
                    let response = try await app.send(method, "/installations/phone", by: .none, fields: origin)
                    #expect(response.status == (method == "GET" ? 401 : 204))
                }
            }
            #expect(try await Self.statements(of: registry) - before < 200)
        }
    }

    private static func statements(of registry: Registry) async throws -> Int {
        let metrics = try await registry.send("GET", "/metrics", key: nil).text
        let counts = metrics.matches(of: /push_registry_postgres_duration_seconds_count(?:\{[^}]*\})? (\d+)/)
        #expect(!counts.isEmpty)
        return counts.compactMap { Int($0.1) }.reduce(0, +)
    }

    /// Strangers must not fill the disk.
    @Test func auditLog_hasNoMoreFailuresThanTheLimit() async throws {
        try await withRegistry(environment: Self.strict) { registry in
            let start = ContinuousClock.now
            for _ in 1...100 { #expect(try await registry.send("GET", "/v1/apps", key: nil).status == 401) }
            let seconds = Int((ContinuousClock.now - start) / .seconds(1))
            let lines = {
                registry.service.command.log.split(separator: "\n").filter { $0.contains("missing-credential") }
            }
            try await eventually("the failures are logged") { lines().count >= 3 }
            #expect(lines().count <= 3 + 1 + seconds)
        }
    }

    @Test func limit_isOff_whenItsRateIs0() async throws {
        try await withRegistry(environment: ["PUSH_REGISTRY_FAILED_AUTHENTICATION_RATE": "0"]) { registry in
            let app = try await RegistryApp.make(in: registry)
            #expect(try await statuses(app, .text(Self.guess)) == [401])
        }
    }

    @Test func operatorIsWarned_whenAProxyIsNotTrusted() async throws {
        try await withRegistry { registry in
            for _ in 1...8 {
                let fields = [("X-Forwarded-For", "203.0.113.7")]
                #expect(try await registry.send("GET", "/healthz", key: nil, fields: fields).status == 200)
            }
            let log = { registry.service.command.log.split(separator: "\n").filter { $0.contains("trusted-proxies") } }
            try await eventually("the warning is logged") { !log().isEmpty }
            #expect(log().count == 1 && log()[0].contains("127.0.0.1"))
        }
    }
}

extension RegistryApp.Credential {
    /// The same with another signature.
    fileprivate var changed: RegistryApp.Credential {
        guard case .text(let text) = self else { return self }
        return .text(text.split(separator: ".").dropLast().joined(separator: ".") + ".AAAA")
    }
}

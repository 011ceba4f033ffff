import Basics
import Crypto
import Foundation
import RegistryTestSupport
import Testing

extension EndToEnd {
    /// Each test has its own registry, because the allowed addresses are a setting and the log is read.
    @Suite("Keys of an identity provider are fetched from jwksURL")
    struct KeySetURLTests {
        private static let allowed = ["PUSH_REGISTRY_JWKS_PRIVATE_ADDRESSES": "allowed"]

        /// An identity provider with one key.
        private struct Issuer {
            let server: WebServer
            private let key = P256.Signing.PrivateKey()

            init() throws {
                server = try WebServer()
                server.setResponse("keys", .init(body: #"{"keys":[\#(publicKey)]}"#))
            }

            var url: JSON { .string(server.url("keys")) }

            private var publicKey: String {
                let point = key.publicKey.rawRepresentation
                return #"{"kty":"EC","kid":"k1","use":"sig","alg":"ES256","crv":"P-256","#
                    + #""x":"\#(String(base64URL: point.prefix(32)))","#
                    + #""y":"\#(String(base64URL: point.suffix(32)))"}"#
            }

            func token(_ user: String, kid: String = "k1") throws -> RegistryApp.Credential {
                let now = Int(Date().timeIntervalSince1970)
                let claims = #"{"sub":"\#(user)","sid":"s","iat":\#(now),"exp":\#(now + 900)}"#
                let header = #"{"alg":"ES256","kid":"\#(kid)"}"#
                let input = String(base64URL: header.utf8) + "." + String(base64URL: claims.utf8)
                let signature = try key.signature(for: Data(input.utf8)).rawRepresentation
                return .text(input + "." + String(base64URL: signature))
            }
        }

        @Test func jwt_isAccepted_withAKeyOfTheProvider_orOfThePolicy() async throws {
            try await withRegistry(environment: Self.allowed) { registry in
                let issuer = try Issuer()
                var policy = UserJWT.policy
                policy["jwksURL"] = issuer.url
                let app = try await RegistryApp.make(in: registry, policy: policy)
                let put = try await app.put("phone", by: try issuer.token("alice"))
                #expect(put.status == 201 && put.json["userId"] == "alice", "\(put.text)")
                #expect(try await app.get("phone", by: try issuer.token("alice")).status == 200)
                #expect(try await app.get("phone", by: try issuer.token("bob")).status == 404)
                #expect(try await app.put("tablet", by: UserJWT.make("alice")).status == 201)
                let logout = try await app.send("POST", "/installations/phone/logout", by: try issuer.token("alice"))
                #expect(logout.status == 200, "\(logout.text)")
                #expect(issuer.server.requests == 1)
                let metrics = try await registry.client.response(to: .make("GET", "/metrics", key: nil)).text
                #expect(metrics.contains(#"push_registry_jwks_fetches_total{app="\#(app.id)",result="ok"} 1"#))
            }
        }

        /// Anybody can write a JWT with a `kid`.
        @Test func unknownKeys_areA401_andCauseOneFetch() async throws {
            try await withRegistry(environment: Self.allowed) { registry in
                let issuer = try Issuer()
                let app = try await RegistryApp.make(in: registry, policy: ["jwksURL": issuer.url])
                for number in 0..<20 {
                    let response = try await app.put("phone", by: try issuer.token("alice", kid: "other\(number)"))
                    #expect(response.status == 401 && response.code == "invalid-credential", "\(response.text)")
                }
                #expect(issuer.server.requests == 1)
                #expect(try await app.put("phone", by: try issuer.token("alice")).status == 201)
            }
        }

        /// After a 401 the app would sign the user out.
        @Test func jwt_isA503_whileTheProviderFails() async throws {
            try await withRegistry(environment: Self.allowed) { registry in
                let issuer = try Issuer()
                issuer.server.setResponse("keys", .init(500))
                let app = try await RegistryApp.make(in: registry, policy: ["jwksURL": issuer.url])
                for _ in 0..<3 {
                    for response in [
                        try await app.put("phone", by: try issuer.token("alice")),
                        try await app.get("phone", by: try issuer.token("alice")),
                    ] {
                        #expect(response.status == 503 && response.code == "key-set-unavailable", "\(response.text)")
                        let wait = response["Retry-After"].flatMap { Int($0) } ?? 0
                        #expect((1...30).contains(wait))
                    }
                }
                #expect(issuer.server.requests == 1)
                // API keys do not depend on the provider.
                #expect(try await app.put("phone").status == 201)
                var lines: [Substring] = []
                try await eventually("the log has a line") {
                    lines = registry.service.command.log.split(separator: "\n").filter {
                        $0.contains("a key set cannot be fetched")
                    }
                    return !lines.isEmpty
                }
                #expect(lines.count == 1 && lines[0].contains("the response has the status 500"), "\(lines)")
                let metrics = try await registry.client.response(to: .make("GET", "/metrics", key: nil)).text
                #expect(metrics.contains(#"push_registry_jwks_fetches_total{app="\#(app.id)",result="failed"} 1"#))
            }
        }

        @Test func privateAddress_isNotCalled_unlessTheSettingAllowsIt() async throws {
            try await withRegistry { registry in
                let issuer = try Issuer()
                let app = try await RegistryApp.make(in: registry, policy: ["jwksURL": issuer.url])
                #expect(try await app.put("phone", by: try issuer.token("alice")).status == 503)
                #expect(issuer.server.requests == 0)
                try await eventually("the log says what to do") {
                    registry.service.command.log.contains("PUSH_REGISTRY_JWKS_PRIVATE_ADDRESSES")
                }
            }
        }

        @Test func url_isAMemberOfThePolicy() async throws {
            let app = try await RegistryApp.make()
            let url: JSON = "https://login.example.com/.well-known/jwks.json"
            let put = try await app.send("PUT", "", ["jwksURL": url], by: .role(.admin))
            #expect(put.status == 200 && put.json["jwksURL"] == url && put.json["jwks"] == .null, "\(put.text)")
            #expect(try await app.send("GET", "", by: .role(.admin)).json["jwksURL"] == url)
            let kept = try await app.send("PATCH", "", ["grace": "P3D"], by: .role(.admin))
            #expect(kept.json["jwksURL"] == url)
            let removed = try await app.send("PATCH", "", ["jwksURL": .null], by: .role(.admin))
            #expect(removed.status == 200 && removed.json["jwksURL"] == .null)
            for wrong: JSON in ["http://login.example.com/keys", "login", "file:///etc/passwd"] {
                let response = try await app.send("PUT", "", ["jwksURL": wrong], by: .role(.admin))
                #expect(response.status == 400 && response.faults == ["/jwksURL invalid-url"], "\(response.text)")
            }
        }
    }
}

import Basics
import Crypto
import Foundation
import RegistryTestSupport

/// An OpenID provider with one client. Each code works once, with the verifier of its challenge (RFC 7636).
final class FakeProvider: Sendable {
    static let clientID = "push-registry"
    /// With what Basic authentication must encode first (RFC 6749, section 2.3.1).
    static let secret = "a secret: of 100%"

    /// What it does wrong, or otherwise.
    struct Changes: Sendable {
        /// Members of the discovery document, and claims; `null` removes one.
        var metadata: JSON = [:]
        var claims: JSON = [:]
        var header: JSON = [:]
        var isSignedByAnotherKey = false
        /// Whether a code works again.
        var forgetsCodes = false
        /// The response of the token endpoint.
        var tokens: WebServer.Response?
    }

    private let key = P256.Signing.PrivateKey()
    /// The parameters of the authorization request, by code.
    private let codes = Locked<[String: [String: String]]>([:])
    private let changes = Locked(Changes())
    private let server: WebServer

    init() throws {
        server = try WebServer()
        let point = key.publicKey.rawRepresentation
        let published: JSON = [
            "kty": "EC", "kid": "k1", "alg": "ES256", "crv": "P-256", "x": .string(String(base64URL: point.prefix(32))),
            "y": .string(String(base64URL: point.suffix(32))),
        ]
        server.setResponse("keys", .init(body: JSON.object(["keys": [published]]).text))
        change { _ in }
        server.setPostHandler { [weak self] body, authorization in
            self?.tokens(Self.fields(body), authorization) ?? .init(500)
        }
    }

    var issuer: String { "http://127.0.0.1:\(server.port)" }

    /// The settings of a service that trusts it.
    func environment(adminGroup: String = "operators") -> [String: String] {
        [
            "PUSH_REGISTRY_OIDC_ISSUER": issuer, "PUSH_REGISTRY_OIDC_CLIENT_ID": Self.clientID,
            "PUSH_REGISTRY_OIDC_CLIENT_SECRET": Self.secret, "PUSH_REGISTRY_OIDC_ADMIN_GROUP": adminGroup,
        ]
    }

    /// Replaces all changes.
    func change(_ body: (inout Changes) -> Void) {
        var changes = Changes()
        body(&changes)
        self.changes.withLock { $0 = changes }
        let document: JSON = [
            "issuer": .string(issuer), "authorization_endpoint": .string(issuer + "/authorize?tenant=1"),
            "token_endpoint": .string(issuer + "/token"), "jwks_uri": .string(issuer + "/keys"),
        ]
        setDiscovery(.init(body: Self.merged(document, changes.metadata).text))
    }

    func setDiscovery(_ response: WebServer.Response) {
        server.setResponse(".well-known/openid-configuration", response)
    }

    /// The number of requests that it has received.
    var requests: Int { server.requests }

    /// Signs somebody in.
    ///
    /// - Parameter location: where the service has led the browser.
    /// - Returns: the query with which the provider leads the browser back.
    func response(to location: String) -> String {
        let request = Self.fields(String(location.drop { $0 != "?" }.dropFirst()))
        let code = UUID().uuidString
        codes.withLock { $0[code] = request }
        return "code=\(code)&state=\(request["state"] ?? "")&session_state=1"
    }

    private func tokens(_ form: [String: String], _ authorization: String?) -> WebServer.Response {
        let changes = changes.withLock { $0 }
        if let tokens = changes.tokens { return tokens }
        let request = codes.withLock { codes in
            defer { if !changes.forgetsCodes { codes[form["code"] ?? ""] = nil } }
            return codes[form["code"] ?? ""]
        }
        let credentials = Data("\(Self.clientID):a%20secret%3A%20of%20100%25".utf8).base64EncodedString()
        guard authorization == "Basic \(credentials)", form["client_secret"] == nil else { return .init(401) }
        let challenge = String(base64URL: Array(SHA256.hash(data: Data((form["code_verifier"] ?? "").utf8))))
        guard let request, form["grant_type"] == "authorization_code", form["redirect_uri"] == request["redirect_uri"],
            challenge == request["code_challenge"]
        else { return .init(400, body: #"{"error":"invalid_grant"}"#) }
        return .init(body: JSON.object(["id_token": .string(token(request["nonce"] ?? "", changes))]).text)
    }

    private func token(_ nonce: String, _ changes: Changes) -> String {
        let now = Int64(Date().timeIntervalSince1970)
        let claims: JSON = [
            "iss": .string(issuer), "aud": .string(Self.clientID), "sub": "ada-1", "name": "Ada", "iat": .integer(now),
            "exp": .integer(now + 300), "nonce": .string(nonce), "groups": ["marketers", "others"],
        ]
        let header = Self.merged(["alg": "ES256", "kid": "k1"], changes.header)
        let input = [header, Self.merged(claims, changes.claims)]
            .map { String(base64URL: $0.text.utf8) }.joined(separator: ".")
        let key = changes.isSignedByAnotherKey ? P256.Signing.PrivateKey() : key
        let signature = try? key.signature(for: Data(input.utf8)).rawRepresentation
        return input + "." + String(base64URL: signature ?? Data())
    }

    /// JSON Merge Patch of an object.
    private static func merged(_ document: JSON, _ changes: JSON) -> JSON {
        .object(document.object.merging(changes.object) { $1 }.filter { $0.value != .null })
    }

    /// The fields of a form or a query.
    static func fields(_ text: String) -> [String: String] {
        Dictionary(
            text.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1).map { String($0).removingPercentEncoding ?? "" }
                return (parts[0], parts.count > 1 ? parts[1] : "")
            }, uniquingKeysWith: { first, _ in first })
    }
}

import Basics
import Crypto
import CryptoExtras
import Foundation
import PushRegistry
import Testing

@testable import RegistryAPI

@Suite("A JWT identifies a user, or is refused with a reason")
struct UserTokenTests {
    @Test(arguments: UserTokenKeys.Algorithm.allCases)
    func token_identifiesUserAndSession_whenSignedByItsKey(algorithm: UserTokenKeys.Algorithm) async throws {
        let token = try await verify(Issuer.shared.token(algorithm))
        #expect(token.owner.userID.rawValue == "alice")
        #expect(token.owner.session?.id.rawValue == "s1")
        #expect(token.owner.session?.expiresAt == nil)
        #expect(token.issuedAt == Issuer.now)
        #expect(token.keyID == algorithm.rawValue)
    }

    @Test(arguments: [
        #"{"alg":"none"}"#, #"{"alg":"None","kid":"HS256"}"#, #"{"alg":"HS512","kid":"HS256"}"#,
        #"{"alg":"ES384","kid":"ES256"}"#, #"{"kid":"HS256"}"#, #"{"alg":"PS256","kid":"RS256"}"#,
    ])
    func token_isRefused_withAnotherAlgorithm(header: String) async throws {
        let token = try await Issuer.shared.token(.hs256, header: header)
        await #expect(throws: UserTokenFault.self) { try await verify(token) }
        let unsigned = token.prefix { $0 != "." } + "." + token.split(separator: ".")[1] + "."
        await #expect(throws: UserTokenFault.self) { try await verify(String(unsigned)) }
    }

    /// Algorithm confusion: a public key must never be used as the secret of an HMAC.
    @Test(arguments: ["RS256", "ES256"])
    func token_isRefused_whenSignedByHMACWithAPublicKey(keyID: String) async throws {
        for secret in try Issuer.shared.publicTexts {
            let token = try await Issuer.shared.token(
                .hs256, header: #"{"alg":"HS256","kid":"\#(keyID)"}"#, secret: secret)
            await #expect(throws: UserTokenFault.unknownKey) { try await verify(token) }
            let nameless = try await Issuer.shared.token(.hs256, header: #"{"alg":"HS256"}"#, secret: secret)
            await #expect(throws: UserTokenFault.badSignature) { try await verify(nameless) }
        }
    }

    @Test(arguments: [
        (#"{"alg":"HS256","kid":"other"}"#, UserTokenFault.unknownKey),
        (#"{"alg":"ES256","kid":"HS256"}"#, .unknownKey), (#"{"alg":"RS256","kid":"RS256"}"#, .badSignature),
        (#"{"alg":"HS256","kid":"HS256","crit":["x"]}"#, .malformed),
        (#"{"alg":"HS256","alg":"HS256","kid":"HS256"}"#, .malformed), (#"["HS256"]"#, .malformed),
    ])
    func token_isRefused_whenItsHeaderIsInvalid(header: String, fault: UserTokenFault) async throws {
        let token = try await Issuer.shared.token(.hs256, header: header)
        await #expect(throws: fault) { try await verify(token) }
    }

    @Test(arguments: [
        (#""exp":NOW-30"#, UserTokenFault.expired), (#""nbf":NOW+31"#, .notYetValid),
        (#""iat":NOW+31"#, .notYetValid), (#""exp":"soon""#, .malformedClaims), (#""iss":"other""#, .wrongIssuer),
        (#""aud":"other""#, .wrongAudience), (#""aud":["a","b"]"#, .wrongAudience), (#""aud":[]"#, .wrongAudience),
        (#""sub":"""#, .invalidUser), (#""sub":"with space""#, .invalidUser), (#""sub":7"#, .malformedClaims),
        (#""sub":null"#, .invalidUser), (#""sid":"""#, .invalidSession), (#""exp":null"#, .missingExpiry),
    ])
    func token_isRefused_whenAClaimIsInvalid(claim: String, fault: UserTokenFault) async throws {
        let token = try await Issuer.shared.token(.hs256, claims: claim)
        await #expect(throws: fault) { try await verify(token, policy: .strict) }
    }

    @Test(arguments: [
        #""exp":NOW-29"#, #""nbf":NOW+30"#, #""iat":NOW+30"#, #""exp":NOW+0.5"#, #""aud":["other","app"]"#,
        #""aud":"app""#, #""sid":null"#,
    ])
    func token_isAccepted_withinTheLeeway_andForOneOfItsAudiences(claim: String) async throws {
        let token = try await Issuer.shared.token(.hs256, claims: claim)
        #expect(try await verify(token, policy: .strict).owner.userID.rawValue == "alice")
    }

    @Test(arguments: ["", ".", "..", "a.b", "a.b.c.d", "§.§.§", String(repeating: "a", count: 9_000)])
    func text_isRefused_whenItIsNotAToken(text: String) async throws {
        await #expect(throws: UserTokenFault.malformed) { try await verify(text) }
    }

    @Test func signature_isRefused_whenAnyPartWasChanged() async throws {
        let parts = try await Issuer.shared.token(.rs256).split(separator: ".").map(String.init)
        let others = try await Issuer.shared.token(.rs256, claims: #""sub":"mallory""#).split(separator: ".")
        await #expect(throws: UserTokenFault.badSignature) { try await verify("\(parts[0]).\(others[1]).\(parts[2])") }
        await #expect(throws: UserTokenFault.badSignature) { try await verify("\(parts[0]).\(parts[1]).AAAA") }
    }

    @Test func logout_acceptsTokens_upTo30DaysAfterTheirExpiry() async throws {
        let token = try await Issuer.shared.token(.hs256, claims: #""exp":NOW-2592000"#)
        #expect(try await verify(token, lateness: .days(30)).owner.userID.rawValue == "alice")
        let older = try await Issuer.shared.token(.hs256, claims: #""exp":NOW-2592031"#)
        await #expect(throws: UserTokenFault.expired) { try await verify(older, lateness: .days(30)) }
    }

    /// RFC 7517 makes the `kid` of a key optional.
    @Test func onlyKeyOfItsAlgorithm_needsNoKid() async throws {
        let token = try await Issuer.shared.token(.rs256)
        let set = try Issuer.shared.keySet.replacing(#""kid":"RS256","#, with: "")
        let one = UserTokenVerifier(keys: UserTokenKeys(set), policy: .make { _ in })
        #expect(try one.verify(token, at: Issuer.now).keyID == nil)
        let rsa = try #require(set.firstMatch(of: /\{"kty":"RSA"[^}]*\}/)).output
        let two = UserTokenVerifier(
            keys: UserTokenKeys(set.replacing(rsa, with: rsa + "," + rsa)), policy: .make { _ in })
        #expect(throws: UserTokenFault.unknownKey) { try two.verify(token, at: Issuer.now) }
    }

    /// Each tried key costs time of an event loop before the caller is authenticated.
    @Test func token_isRefused_withoutAKid_whenThereAreManyKeys() async throws {
        let secrets = (0..<5).map { #"{"kty":"oct","kid":"\#($0)","k":"\#(Issuer.secretText)"}"# }
        let token = try await Issuer.shared.token(.hs256, header: #"{"alg":"HS256"}"#)
        for count in 1...5 {
            let keys = UserTokenKeys(#"{"keys":[\#(secrets.prefix(count).joined(separator: ","))]}"#)
            let verifier = UserTokenVerifier(keys: keys, policy: .make { _ in })
            if count <= UserTokenKeys.candidatesMax {
                #expect(try verifier.verify(token, at: Issuer.now).keyID == "0")
            } else {
                #expect(throws: UserTokenFault.ambiguousKey) { try verifier.verify(token, at: Issuer.now) }
            }
        }
    }

    /// RFC 7519, section 7.3, and RFC 7517, section 4.5.
    @Test func names_areComparedByTheirBytes() async throws {
        let policy = AppPolicy.make { ($0.jwtIssuer, $0.jwtAudience) = ("caf\u{E9}", "K") }
        for (claims, fault) in [
            (#""iss":"cafe\u0301","aud":"K""#, UserTokenFault.wrongIssuer),
            (#""iss":"caf\u00e9","aud":"\u212a""#, .wrongAudience),
        ] {
            let token = try await Issuer.shared.token(.hs256, claims: claims)
            await #expect(throws: fault) { try await verify(token, policy: policy) }
        }
        let keys = UserTokenKeys(
            #"{"keys":[{"kty":"oct","kid":"caf\u00e9","k":"\#(Issuer.secretText)"},"#
                + #"{"kty":"oct","kid":"cafe\u0301","k":"\#(Issuer.secretText)"}]}"#)
        #expect(keys.keys(id: "cafe\u{301}", algorithm: .hs256).map(\.id) == ["cafe\u{301}"])
    }

    @Test func sessionExpiry_isTheClaimOfThePolicy() async throws {
        let token = try await Issuer.shared.token(.hs256, claims: #""session_exp":NOW+60"#)
        let owner = try await verify(token, policy: .make { $0.sessionExpiryClaim = "session_exp" }).owner
        #expect(owner.session?.expiresAt == Timestamp(microseconds: Issuer.now.microseconds + 60_000_000))
    }

    @Test func keys_areIgnored_whenTheyAreWeakOrForEncryption() {
        let weak =
            #"{"keys":[{"kty":"oct","k":"c2hvcnQ"},{"kty":"oct","use":"enc","k":"\#(Issuer.secretText)"},"#
            + #"{"kty":"oct","alg":"HS512","k":"\#(Issuer.secretText)"},{"kty":"OKP","crv":"Ed25519","x":"AA"},"#
            + #"{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}"#
        #expect(UserTokenKeys(weak).isEmpty)
    }

    private func verify(
        _ token: String, policy: AppPolicy = .make { _ in }, lateness: ISO8601Duration = ISO8601Duration(seconds: 0)
    ) async throws -> UserToken {
        let verifier = UserTokenVerifier(keys: UserTokenKeys(try Issuer.shared.keySet), policy: policy)
        return try verifier.verify(token, at: Issuer.now, lateness: lateness)
    }
}

/// The issuer of users' tokens, with a key of each algorithm.
private struct Issuer: Sendable {
    static let shared = Issuer()
    static let now = Timestamp(microseconds: 1_800_000_000_000_000)
    static let secret = Array("0123456789abcdef0123456789abcdef".utf8)
    static let secretText = String(base64URL: secret)

    private let rsa: Result<_RSA.Signing.PrivateKey, any Error>
    private let ec = P256.Signing.PrivateKey()

    private init() {
        rsa = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }
    }

    var keySet: String {
        get throws {
            let rsaParts = try rsa.get().publicKey.getKeyPrimitives()
            let point = ec.publicKey.rawRepresentation
            return """
                {"keys":[{"kty":"oct","kid":"HS256","k":"\(Self.secretText)"},
                {"kty":"RSA","kid":"RS256","alg":"RS256","n":"\(String(base64URL: rsaParts.modulus))",
                "e":"\(String(base64URL: rsaParts.publicExponent))"},
                {"kty":"EC","kid":"ES256","crv":"P-256","x":"\(String(base64URL: point.prefix(32)))",
                "y":"\(String(base64URL: point.suffix(32)))"}]}
                """
        }
    }

    /// The public keys in every encoding that an attacker may try.
    var publicTexts: [[UInt8]] {
        get throws {
            let key = try rsa.get().publicKey
            return [
                Array(key.pemRepresentation.utf8), Array(ec.publicKey.pemRepresentation.utf8),
                Array(ec.publicKey.x963Representation), Array(try key.getKeyPrimitives().modulus),
            ]
        }
    }

    /// A token of alice. `claims` replace the default claims; NOW stands for the current second.
    func token(
        _ algorithm: UserTokenKeys.Algorithm, header: String? = nil, claims: String = "", secret: [UInt8]? = nil
    ) async throws -> String {
        var usual = [
            "sub": #""alice""#, "sid": #""s1""#, "iss": #""issuer""#, "aud": #""app""#, "iat": "NOW", "exp": "NOW+60",
        ]
        for name in claims.matches(of: /(?:^|,)"([a-z_]+)":/) { usual[String(name.output.1)] = nil }
        let members = usual.map { "\"\($0)\":\($1)" } + (claims.isEmpty ? [] : [claims])
        let header = header ?? #"{"alg":"\#(algorithm.rawValue)","kid":"\#(algorithm.rawValue)"}"#
        let input =
            String(base64URL: header.utf8) + "."
            + String(base64URL: Self.withTimes("{" + members.joined(separator: ",") + "}").utf8)
        return input + "." + String(base64URL: try await signature(algorithm, Array(input.utf8), secret ?? Self.secret))
    }

    private func signature(
        _ algorithm: UserTokenKeys.Algorithm, _ input: [UInt8], _ secret: [UInt8]
    ) async throws -> Data {
        switch algorithm {
        case .hs256: Data(HMAC<SHA256>.authenticationCode(for: input, using: SymmetricKey(data: secret)))
        case .es256: try ec.signature(for: input).rawRepresentation
        case .rs256:
            try rsa.get().signature(for: Data(input), padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }

    /// `NOW-30` as a number.
    private static func withTimes(_ text: String) -> String {
        text.replacing(/NOW([+-][0-9.]+)?/) { match in
            let offset = match.output.1.flatMap { Double($0) } ?? 0
            let seconds = Double(now.microseconds) / 1_000_000 + offset
            return seconds == seconds.rounded() ? String(Int64(seconds)) : String(seconds)
        }
    }
}

extension AppPolicy {
    fileprivate static let strict = make {
        $0.jwtIssuer = "issuer"
        $0.jwtAudience = "app"
    }

    fileprivate static func make(_ change: (inout Draft) -> Void) -> AppPolicy {
        var draft = Draft()
        change(&draft)
        return (try? AppPolicy(draft)) ?? .standard
    }
}

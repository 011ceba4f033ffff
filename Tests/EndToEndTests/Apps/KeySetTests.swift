import Foundation
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A key set that cannot verify JWTs is refused with a reason")
    struct KeySetTests {
        private static let secret = "c2VjcmV0LW9mLXRoZS1hcHAtb2YtMzItYnl0ZXMhISE"
        private static let ec: JSON = [
            "kty": "EC", "kid": "e", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        ]
        /// 2,048 bits, the key of RFC 7515, appendix A.2.
        private static let rsa: JSON = [
            "kty": "RSA", "kid": "r", "alg": "RS256", "e": "AQAB",
            "n": .string(
                """
                ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4Ql\
                L-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUs\
                LA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoud\
                F8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ
                """
            ),
        ]

        private func put(_ app: RegistryApp, _ keys: [JSON]) async throws -> HTTPResponse {
            try await app.send("PUT", "", ["jwks": ["keys": .array(keys)]], by: .role(.admin))
        }

        @Test func keys_areAccepted_ofEachAlgorithm() async throws {
            let app = try await RegistryApp.make()
            let response = try await put(
                app, [Self.ec, Self.rsa, ["kty": "oct", "kid": "h", "k": .string(Self.secret)]])
            #expect(response.status == 200, "\(response.text)")
            #expect(response.json["jwks"]["keys"].array.map { $0["kid"] } == ["e", "r", "h"])
        }

        private static func changed(_ key: JSON, _ name: String, _ value: JSON) -> JSON {
            var key = key
            key[name] = value
            return key
        }

        private static let faults: [(key: JSON, fault: String)] = [
            (["kty": "oct", "kid": "h", "k": "c2hvcnQ"], "k invalid-key"),
            (["kty": "oct", "kid": "h", "k": "not base64 ** not base64 ** not base64 **"], "k invalid-key"),
            (["kty": "oct", "kid": "h", "alg": "HS512", "k": .string(secret)], "alg invalid-key"),
            (["kty": "oct", "k": .string(secret)], "kid required"),
            (["kty": "OKP", "crv": "Ed25519", "x": "AA"], "kty invalid-key"),
            (["kty": "OCT", "k": .string(secret)], "kty invalid-key"),
            (changed(ec, "crv", "P-384"), "crv invalid-key"), (changed(ec, "crv", .null), "crv required"),
            (changed(ec, "x", "AA"), "x invalid-key"), (changed(ec, "y", .null), "y required"),
            (changed(ec, "y", "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"), "x invalid-key"),
            (changed(ec, "alg", "ES384"), "alg invalid-key"), (changed(ec, "use", 7), "use wrong-type"),
            (changed(rsa, "alg", "RS512"), "alg invalid-key"), (changed(rsa, "n", "AQAB"), "n invalid-key"),
            (changed(rsa, "n", .string(String(repeating: "A", count: 342))), "n invalid-key"),
            (changed(rsa, "n", .string("_" + String(repeating: "A", count: 1_364) + "Q")), "n invalid-key"),
            (changed(rsa, "e", "AA"), "e invalid-key"), (changed(rsa, "e", "Ag"), "e invalid-key"),
            (changed(rsa, "e", "____________"), "e invalid-key"),
            (changed(ec, "d", "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"), "d private-key"),
            (changed(rsa, "p", "AQAB"), "p private-key"), (changed(rsa, "k", .string(secret)), "k private-key"),
        ]

        @Test func key_isAFaultAtItsMember_whenItCannotVerify() async throws {
            let app = try await RegistryApp.make()
            for (key, fault) in Self.faults {
                let response = try await put(app, [["kty": "oct", "kid": "good", "k": .string(Self.secret)], key])
                #expect(response.status == 400, "\(fault)")
                #expect(response.faults == ["/jwks/keys/1/\(fault)"], "\(response.text)")
                #expect(!response.text.contains(Self.secret))
            }
        }

        /// A number outside of the range of Double once emptied the whole set.
        @Test func unusualJSON_isAFaultAtItsMember() async throws {
            let app = try await RegistryApp.make()
            let key = Self.ec.text.replacing(#""x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU""#, with: #""x":1e400"#)
            var request = app.request("PUT", "", [:], by: .role(.admin))
            request.body = Array(#"{"jwks":{"keys":[\#(key)]}}"#.utf8)
            let response = try await app.registry.client.response(to: request)
            #expect(response.status == 400 && response.faults == ["/jwks/keys/0/x wrong-type"], "\(response.text)")
        }

        @Test func set_isAFault_whenNothingInItVerifies_orTwoKeysHaveOneName() async throws {
            let app = try await RegistryApp.make()
            #expect(try await put(app, []).faults == ["/jwks/keys required"])
            let encrypting = Self.changed(Self.rsa, "use", "enc")
            #expect(try await put(app, [encrypting]).faults == ["/jwks/keys required"])
            #expect(try await put(app, [encrypting, Self.ec]).status == 200)
            #expect(try await put(app, [Self.ec, Self.ec]).faults == ["/jwks/keys/1/kid duplicate-member"])
        }

        @Test func unknownMembersOfAKey_areDropped() async throws {
            let app = try await RegistryApp.make()
            let response = try await put(app, [Self.changed(Self.ec, "x5t", 1)])
            #expect(response.status == 200 && response.json["jwks"]["keys"] == [Self.ec], "\(response.text)")
        }
    }

    @Suite("A JWT has an expiry, and an issue time or a session")
    struct IncompleteTokenTests {
        private static let now = Int(Date().timeIntervalSince1970)

        @Test func incompleteToken_isA401_thatNamesTheMissingClaim() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let claims = [
                (#"{"sub":"alice","iat":\#(Self.now)}"#, "no exp"), (#"{"sub":"alice","sid":"s1"}"#, "no exp"),
                (#"{"sub":"alice","exp":\#(Self.now + 900)}"#, "neither iat nor sid"),
            ]
            for (text, missing) in claims {
                let response = try await app.put("phone", by: UserJWT.make(claims: text))
                #expect(response.status == 401 && response.code == "invalid-credential")
                #expect(response.json["detail"].string?.contains(missing) == true, "\(response.text)")
            }
            for text in [
                #"{"sub":"alice","iat":\#(Self.now),"exp":\#(Self.now + 900)}"#,
                #"{"sub":"alice","sid":"s1","exp":\#(Self.now + 900)}"#,
            ] {
                #expect(try await app.put("phone", by: UserJWT.make(claims: text)).status < 300)
            }
        }

        @Test func incompleteToken_isAccepted_whenThePolicyAllowsIt() async throws {
            var policy = UserJWT.policy
            policy["allowIncompleteTokens"] = true
            let app = try await RegistryApp.make(policy: policy)
            #expect(try await app.put("phone", by: UserJWT.make(claims: #"{"sub":"alice"}"#)).status == 201)
            #expect(try await app.send("GET", "", by: .role(.admin)).json["allowIncompleteTokens"] == true)
        }
    }
}

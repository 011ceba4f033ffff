import Basics
import Crypto
import Foundation
import RegistryTestSupport

/// Users' JWTs, signed with the secret in the policies of these tests.
enum UserJWT {
    static let policy: JSON = [
        "jwks": ["keys": [["kty": "oct", "kid": "tests", "alg": "HS256", "k": .string(String(base64URL: secret))]]]
    ]
    private static let secret = Array("a secret of thirty-two characters".utf8)

    /// A credential of a user.
    ///
    /// - Parameters:
    ///   - age: how many seconds ago it was issued.
    ///   - life: how many seconds it is valid from now on; negative for an expired one.
    static func make(_ user: String, session: String? = nil, age: Int = 0, life: Int = 900) -> RegistryApp.Credential {
        let now = Int(Date().timeIntervalSince1970)
        return make(user, session: session, issuedAt: now - age, expiresAt: now + life)
    }

    /// Times are seconds since 1970.
    static func make(_ user: String, session: String?, issuedAt: Int, expiresAt: Int) -> RegistryApp.Credential {
        let sid = session.map { #","sid":"\#($0)""# } ?? ""
        return make(claims: #"{"sub":"\#(user)","iat":\#(issuedAt),"exp":\#(expiresAt)\#(sid)}"#)
    }

    /// A credential with these claims.
    static func make(claims: String) -> RegistryApp.Credential {
        let input = String(base64URL: #"{"alg":"HS256","kid":"tests"}"#.utf8) + "." + String(base64URL: claims.utf8)
        let signature = HMAC<SHA256>.authenticationCode(for: Data(input.utf8), using: SymmetricKey(data: secret))
        return .text(input + "." + String(base64URL: Data(signature)))
    }
}

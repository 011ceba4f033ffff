import Crypto
import Foundation
import RegistryTestSupport

/// Users' JWTs, signed with the one secret that the policies of these tests have.
enum UserJWT {
    static let policy: JSON = [
        "jwks": ["keys": [["kty": "oct", "kid": "tests", "alg": "HS256", "k": .string(base64URL(Data(secret)))]]]
    ]
    private static let secret = Array("a secret of thirty-two characters".utf8)

    /// A credential of a user.
    ///
    /// - Parameters:
    ///   - age: how many seconds ago it was issued.
    ///   - life: how many seconds it lasts from now on; it has expired where this is negative.
    static func make(_ user: String, session: String? = nil, age: Int = 0, life: Int = 900) -> RegistryApp.Credential {
        let now = Int(Date().timeIntervalSince1970)
        return make(user, session: session, issuedAt: now - age, expiresAt: now + life)
    }

    /// Times are seconds since 1970.
    static func make(_ user: String, session: String?, issuedAt: Int, expiresAt: Int) -> RegistryApp.Credential {
        let sid = session.map { #","sid":"\#($0)""# } ?? ""
        return make(claims: #"{"sub":"\#(user)","iat":\#(issuedAt),"exp":\#(expiresAt)\#(sid)}"#)
    }

    /// A credential with these claims, whatever they are.
    static func make(claims: String) -> RegistryApp.Credential {
        let input = base64URL(Data(#"{"alg":"HS256","kid":"tests"}"#.utf8)) + "." + base64URL(Data(claims.utf8))
        let signature = HMAC<SHA256>.authenticationCode(for: Data(input.utf8), using: SymmetricKey(data: secret))
        return .text(input + "." + base64URL(Data(signature)))
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

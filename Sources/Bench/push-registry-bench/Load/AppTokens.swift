import Crypto
import FleetGenerator
import Foundation
import PushRegistry

/// Signs the JWTs of an app's users, and knows the keys that verify them.
struct AppTokens: Sendable {
    enum Algorithm: String, Sendable {
        case hs256 = "HS256"
        case es256 = "ES256"
    }

    private let secret = SymmetricKey(size: .bits256)
    private let key = P256.Signing.PrivateKey()

    /// A change of an app's policy.
    var policy: String {
        let (raw, k) = (key.publicKey.rawRepresentation, secret.withUnsafeBytes { Data($0) })
        return """
            {"jwks":{"keys":[{"kty":"oct","kid":"HS256","alg":"HS256","k":"\(k.base64URL)"},{"kty":"EC","kid":"ES256",\
            "alg":"ES256","crv":"P-256","x":"\(raw.prefix(32).base64URL)","y":"\(raw.suffix(32).base64URL)"}]}}
            """
    }

    /// A JWT of the user, with a session, that is valid for an hour.
    func token(of user: String, _ algorithm: Algorithm) throws -> String {
        let now = Int(Date.now.timeIntervalSince1970)
        let head = Data(#"{"alg":"\#(algorithm.rawValue)","kid":"\#(algorithm.rawValue)"}"#.utf8)
        let claims = Data(#"{"sub":"\#(user)","sid":"s-\#(user)","iat":\#(now),"exp":\#(now + 3_600)}"#.utf8)
        let signed = "\(head.base64URL).\(claims.base64URL)"
        let signature =
            switch algorithm {
            case .hs256: Data(HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: secret))
            case .es256: try key.signature(for: Data(signed.utf8)).rawRepresentation
            }
        return "\(signed).\(signature.base64URL)"
    }
}

extension Data {
    /// RFC 4648 section 5, without padding.
    fileprivate var base64URL: String {
        base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

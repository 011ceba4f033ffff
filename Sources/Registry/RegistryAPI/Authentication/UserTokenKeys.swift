import Basics
import Crypto
import CryptoExtras
import PushRegistry
import StrictJSON

/// The parsed keys of an app's policy that verify users' JWTs.
struct UserTokenKeys: Sendable {
    enum Algorithm: String, CaseIterable, Sendable {
        case hs256 = "HS256"
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    /// A key verifies by one algorithm, which its own members determine (`kty`, `crv`), never the JWT's header. So an
    /// RSA public key cannot be used as the secret of an HMAC.
    struct Key: Sendable {
        enum Material: Sendable {
            case secret(SymmetricKey)
            case rsa(_RSA.Signing.PublicKey)
            case p256(P256.Signing.PublicKey)
        }

        let id: ExactText?
        let material: Material

        var algorithm: Algorithm {
            switch material {
            case .secret: .hs256
            case .rsa: .rs256
            case .p256: .es256
            }
        }

        /// Takes constant time for a symmetric key.
        func hasSigned(_ input: [UInt8], _ signature: [UInt8]) -> Bool {
            switch material {
            case .secret(let key):
                return HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: input, using: key)
            case .rsa(let key):
                return key.isValidSignature(
                    .init(rawRepresentation: signature), for: input, padding: .insecurePKCS1v1_5)
            case .p256(let key):
                guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else {
                    return false
                }
                return key.isValidSignature(signature, for: input)
            }
        }
    }

    /// The most keys to try for a JWT without a `kid`: each costs up to 100 µs of an event loop.
    static let candidatesMax = 4

    private let keys: [Key]

    var isEmpty: Bool { keys.isEmpty }

    /// - Parameters:
    ///   - text: the JWKS (RFC 7517) of a policy, valid when it was saved. Keys that are too weak by today's rules are
    ///     ignored.
    ///   - published: by the policy's identity provider.
    init(_ text: String?, and published: [Key] = []) {
        keys = (text.map { JWKS(stored: $0).keys } ?? []) + published
    }

    /// The candidates for a JWT with this header: without a `kid`, all keys of the algorithm. RFC 7517 makes the `kid`
    /// of a key optional, so the only key of an algorithm needs none.
    func keys(id: ExactText?, algorithm: Algorithm) -> [Key] {
        let fitting = keys.filter { $0.algorithm == algorithm }
        guard let id else { return fitting }
        if fitting.count == 1, fitting[0].id == nil { return fitting }
        return fitting.filter { $0.id == id }
    }

    func hasKey(id: ExactText) -> Bool { keys.contains { $0.id == id } }
}

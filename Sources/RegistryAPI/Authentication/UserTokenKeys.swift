import Crypto
import Foundation
import JWTKit
import PushRegistry

/// The keys of an app's policy that can verify users' JWTs, ready for use.
///
/// A key verifies by one algorithm, which its own members decide (`kty`, `crv`, `alg`): a public RSA key never becomes the
/// secret of an HMAC, whatever a token's header says. Keys of other kinds, for other uses or too weak are left out.
struct UserTokenKeys: Sendable {
    enum Algorithm: String, CaseIterable, Sendable {
        case hs256 = "HS256"
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    struct Key: Sendable {
        let id: String?
        let algorithm: Algorithm
        private let verifier: any JWTAlgorithm

        fileprivate init(id: String?, algorithm: Algorithm, verifier: any JWTAlgorithm) {
            self.id = id
            self.algorithm = algorithm
            self.verifier = verifier
        }

        /// In constant time where the key is a secret.
        func hasSigned(_ input: [UInt8], _ signature: [UInt8]) -> Bool {
            (try? verifier.verify(signature, signs: input)) ?? false
        }
    }

    /// RFC 7518, sections 3.2 and 3.3: shorter keys are not to be used. A longer RSA key would cost milliseconds a call.
    private static let secretBytesMin = 32
    private static let modulusBytes = 256...1024

    private let keys: [Key]

    var isEmpty: Bool { keys.isEmpty }

    /// - Parameter text: a JWKS (RFC 7517) that was checked when the policy was put.
    init(_ text: String?) async {
        let set = (try? JSONSerialization.jsonObject(with: Data((text ?? "{}").utf8))) as? [String: Any]
        var keys: [Key] = []
        for members in set?["keys"] as? [[String: Any]] ?? [] {
            if let key = await Self.key(members) { keys.append(key) }
        }
        self.keys = keys
    }

    /// Those that may have signed a token with this header. Without a `kid` every key of the algorithm may.
    func keys(id: String?, algorithm: Algorithm) -> [Key] {
        keys.filter { $0.algorithm == algorithm && (id == nil || $0.id == id) }
    }

    private static func key(_ members: [String: Any]) async -> Key? {
        let text = members.compactMapValues { $0 as? String }
        guard text["use"] ?? "sig" == "sig", let algorithm = algorithm(text),
            text["alg"] ?? algorithm.rawValue == algorithm.rawValue
        else { return nil }
        // The collection is jwt-kit's only way to an algorithm; this one holds a single key.
        let collection = JWTKeyCollection()
        guard (try? await add(text, algorithm, to: collection)) != nil, let verifier = try? await collection.getKey()
        else { return nil }
        return Key(id: text["kid"], algorithm: algorithm, verifier: verifier)
    }

    private static func algorithm(_ members: [String: String]) -> Algorithm? {
        switch (members["kty"], members["crv"]) {
        case ("oct", _): .hs256
        case ("RSA", _): .rs256
        case ("EC", "P-256"): .es256
        default: nil
        }
    }

    private static func add(
        _ members: [String: String], _ algorithm: Algorithm, to collection: JWTKeyCollection
    ) async throws {
        switch algorithm {
        case .hs256:
            let secret = try bytes(members["k"])
            guard secret.count >= secretBytesMin else { throw UserTokenFault.unknownKey }
            await collection.add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
        case .rs256:
            let (modulus, exponent) = (try bytes(members["n"]), members["e"] ?? "")
            guard modulusBytes.contains(modulus.count) else { throw UserTokenFault.unknownKey }
            let key = try Insecure.RSA.PublicKey(modulus: members["n"] ?? "", exponent: exponent)
            await collection.add(rsa: key, digestAlgorithm: .sha256)
        case .es256:
            let key = try ES256PublicKey(parameters: (members["x"] ?? "", members["y"] ?? ""))
            await collection.add(ecdsa: key)
        }
    }

    private static func bytes(_ text: String?) throws -> [UInt8] {
        guard let bytes = text.flatMap(Base64URL.init)?.bytes else { throw UserTokenFault.unknownKey }
        return bytes
    }
}

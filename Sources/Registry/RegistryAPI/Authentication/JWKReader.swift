import Basics
import Crypto
import CryptoExtras
import PushRegistry
import StrictJSON

/// Parses one key of a JSON Web Key Set. A key that cannot verify anything is a fault, reported at its member.
struct JWKReader {
    /// The members that are kept; all others are dropped.
    static let names: [StaticString] = ["kty", "kid", "use", "alg", "crv", "x", "y", "n", "e", "k"]
    /// The members of private keys (RFC 7518, sections 6.2.2 and 6.3.2). They are refused.
    private static let privateNames: [StaticString] = ["d", "p", "q", "dp", "dq", "qi", "oth"]

    /// RFC 7518, section 3.2 forbids shorter secrets.
    private static let secretBytesMin = 32
    /// From the minimum of RFC 7518, section 3.3, to 4,096 bits: longer keys would cost milliseconds per call.
    private static let modulusBytes = 256...512
    /// Enough for the exponents in use; longer ones would cost milliseconds per call.
    private static let exponentBytesMax = 4
    /// Larger than every accepted value, so that the error for a long modulus states the limit in bits.
    private static let valueScalarsMax = 2_048

    let members: [String: String]
    /// Whether it has members of a private key, which is a fault.
    let isPrivate: Bool
    private let object: JSONObject

    /// - Parameter secret: returns the stored secret of the symmetric key with a `kid`; nil if there is none.
    init(_ object: JSONObject, secret: (String) -> String?) {
        var (members, isPrivate) = ([String: String](), false)
        for name in Self.names {
            guard let value = object.string(name, scalarsMax: Self.valueScalarsMax) else { continue }
            members[name.description] = value
        }
        if members["kty"] == "oct" {
            if members["k"] == nil, let kid = members["kid"] { members["k"] = secret(kid) }
        } else if members.removeValue(forKey: "k") != nil, ["RSA", "EC"].contains(members["kty"]) {
            object.refusePrivate("k")
            isPrivate = true
        }
        for name in Self.privateNames where object.value(name) != nil {
            object.refusePrivate(name)
            isPrivate = true
        }
        (self.members, self.isPrivate, self.object) = (members, isPrivate, object)
    }

    /// False for keys of another `use`: key sets of identity providers also contain keys for encryption.
    var isForSignatures: Bool { members["use"] ?? "sig" == "sig" }

    /// Nil for a key of another `use`, and after a fault.
    func verificationKey() -> UserTokenKeys.Key? {
        guard isForSignatures else { return nil }
        guard let material = material() else { return nil }
        let key = UserTokenKeys.Key(id: members["kid"].map { ExactText($0) }, material: material)
        if let algorithm = members["alg"], algorithm != key.algorithm.rawValue {
            object.refuse(member: "alg", .invalidKey, "A key of this kty only verifies \(key.algorithm.rawValue).")
            return nil
        }
        return key
    }

    private func material() -> UserTokenKeys.Key.Material? {
        switch members["kty"] {
        case "oct": return secret().map { .secret($0) }
        case "RSA": return rsa().map { .rsa($0) }
        case "EC": return p256().map { .p256($0) }
        case nil:
            if object.value("kty") == nil { object.refuse(member: "kty", .required, "This member is required.") }
        default: object.refuse(member: "kty", .invalidKey, "This must be oct (HS256), RSA (RS256) or EC (ES256).")
        }
        return nil
    }

    private func secret() -> SymmetricKey? {
        guard members["kid"] != nil else {
            object.refuse(member: "kid", .required, "A symmetric key requires a kid, by which a PUT keeps its secret.")
            return nil
        }
        guard members["k"] != nil || object.value("k") != nil else {
            object.refuse(member: "k", .required, "A symmetric key requires its secret, unless it is stored already.")
            return nil
        }
        guard let bytes = bytes("k") else { return nil }
        guard bytes.count >= Self.secretBytesMin else {
            object.refuse(member: "k", .invalidKey, "HS256 requires a secret of at least \(Self.secretBytesMin) bytes.")
            return nil
        }
        return SymmetricKey(data: bytes)
    }

    private func rsa() -> _RSA.Signing.PublicKey? {
        guard let modulus = bytes("n").map({ Array($0.drop { $0 == 0 }) }), let exponent = bytes("e") else {
            return nil
        }
        guard Self.modulusBytes.contains(modulus.count) else {
            object.refuse(member: "n", .invalidKey, "A modulus must have 2,048 to 4,096 bits.")
            return nil
        }
        guard (1...Self.exponentBytesMax).contains(exponent.count), let last = exponent.last, last % 2 == 1,
            exponent != [1]
        else {
            object.refuse(
                member: "e", .invalidKey, "An exponent must be an odd number above 1 of at most 32 bits: AQAB.")
            return nil
        }
        guard let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent) else {
            object.refuse(member: "n", .invalidKey, "A modulus must be odd and have 2,048 to 4,096 bits.")
            return nil
        }
        return key
    }

    private func p256() -> P256.Signing.PublicKey? {
        guard let curve = members["crv"] else {
            if object.value("crv") == nil { object.refuse(member: "crv", .required, "This member is required.") }
            return nil
        }
        guard curve == "P-256" else {
            object.refuse(member: "crv", .invalidKey, "This must be P-256 (ES256).")
            return nil
        }
        guard let x = bytes("x"), let y = bytes("y") else { return nil }
        guard x.count == 32, y.count == 32, let key = try? P256.Signing.PublicKey(rawRepresentation: x + y) else {
            object.refuse(
                member: "x", .invalidKey, "x and y must be base64url of 32 bytes each, and a point on the curve.")
            return nil
        }
        return key
    }

    private func bytes(_ name: StaticString) -> [UInt8]? {
        guard let text = members[name.description] else {
            if object.value(name) == nil { object.refuse(member: name, .required, "This member is required.") }
            return nil
        }
        guard let decoded = Base64URL(text) else {
            object.refuse(member: name, .invalidKey, "This must be base64url (RFC 4648, section 5).")
            return nil
        }
        return decoded.bytes
    }
}

extension JSONObject {
    fileprivate func refusePrivate(_ name: StaticString) {
        refuse(
            member: name, .privateKey,
            "This belongs to a private key. Send only the public key, and replace the key pair: it is exposed.")
    }
}

extension JSONFault.Code {
    static let invalidKey = JSONFault.Code(rawValue: "invalid-key")
    /// A member of a private key in a set of public keys.
    static let privateKey = JSONFault.Code(rawValue: "private-key")
}

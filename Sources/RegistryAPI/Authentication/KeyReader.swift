import Crypto
import CryptoExtras
import PushRegistry
import StrictJSON

/// Reads one key of a JSON Web Key Set. What cannot work is a fault of the document, at its member.
struct KeyReader {
    /// The members that are kept; all others are dropped.
    static let names: [StaticString] = ["kty", "kid", "use", "alg", "crv", "x", "y", "n", "e", "k"]
    /// The members of private keys (RFC 7518, sections 6.2.2 and 6.3.2). They never get in.
    private static let privateNames: [StaticString] = ["d", "p", "q", "dp", "dq", "qi", "oth"]

    /// RFC 7518, section 3.2: shorter secrets are not to be used.
    private static let secretBytesMin = 32
    /// RFC 7518, section 3.3, to 4,096 bits: a longer key would cost milliseconds a call.
    private static let modulusBytes = 256...512
    /// What the exponents in use need; a longer one would cost milliseconds a call.
    private static let exponentBytesMax = 4
    /// Above the longest value that is accepted, so that a modulus that is too long is called just that.
    private static let valueScalarsMax = 2_048

    let members: [String: String]
    /// Whether it has members of a private key, which is a fault.
    let isPrivate: Bool
    private let object: JSONObject

    /// - Parameter secret: the stored secret of the symmetric key of a `kid`, if there is one.
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
        self.members = members
        self.isPrivate = isPrivate
        self.object = object
    }

    /// Whether the key says nothing else: keys for encryption stand beside them in the sets of identity providers.
    var isForSignatures: Bool { members["use"] ?? "sig" == "sig" }

    /// Nil for a key of another use, and after a fault.
    func verificationKey() -> UserTokenKeys.Key? {
        guard isForSignatures else { return nil }
        guard let material = material() else { return nil }
        let key = UserTokenKeys.Key(id: members["kid"], material: material)
        if let algorithm = members["alg"], algorithm != key.algorithm.rawValue {
            object.refuse("alg", .invalidKey, "A key of this kty verifies \(key.algorithm.rawValue) and nothing else.")
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
            if object.value("kty") == nil { object.refuse("kty", .required, "This member is required.") }
        default: object.refuse("kty", .invalidKey, "This must be oct, RSA or EC: JWTs by HS256, RS256 or ES256.")
        }
        return nil
    }

    private func secret() -> SymmetricKey? {
        guard members["k"] != nil || object.value("k") != nil else {
            object.refuse("k", .required, "A symmetric key needs its secret, unless it is stored already.")
            return nil
        }
        guard let bytes = bytes("k") else { return nil }
        guard bytes.count >= Self.secretBytesMin else {
            object.refuse("k", .invalidKey, "HS256 needs a secret of at least \(Self.secretBytesMin) bytes.")
            return nil
        }
        return SymmetricKey(data: bytes)
    }

    private func rsa() -> _RSA.Signing.PublicKey? {
        guard let modulus = bytes("n").map({ Array($0.drop { $0 == 0 }) }), let exponent = bytes("e") else {
            return nil
        }
        guard Self.modulusBytes.contains(modulus.count) else {
            object.refuse("n", .invalidKey, "A modulus has 2,048 to 4,096 bits.")
            return nil
        }
        guard (1...Self.exponentBytesMax).contains(exponent.count), let last = exponent.last, last % 2 == 1,
            exponent != [1]
        else {
            object.refuse("e", .invalidKey, "An exponent is an odd number above 1 of at most 32 bits, such as AQAB.")
            return nil
        }
        guard let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent) else {
            object.refuse("n", .invalidKey, "A modulus has 2,048 to 4,096 bits, and is no even number.")
            return nil
        }
        return key
    }

    private func p256() -> P256.Signing.PublicKey? {
        guard let curve = members["crv"] else {
            if object.value("crv") == nil { object.refuse("crv", .required, "This member is required.") }
            return nil
        }
        guard curve == "P-256" else {
            object.refuse("crv", .invalidKey, "This must be P-256: JWTs by ES256.")
            return nil
        }
        guard let x = bytes("x"), let y = bytes("y") else { return nil }
        guard x.count == 32, y.count == 32, let key = try? P256.Signing.PublicKey(rawRepresentation: x + y) else {
            object.refuse("x", .invalidKey, "x and y are base64url of 32 bytes each, and a point of the curve.")
            return nil
        }
        return key
    }

    private func bytes(_ name: StaticString) -> [UInt8]? {
        guard let text = members[name.description] else {
            if object.value(name) == nil { object.refuse(name, .required, "This member is required.") }
            return nil
        }
        guard let decoded = Base64URL(text) else {
            object.refuse(name, .invalidKey, "This must be base64url (RFC 4648, section 5).")
            return nil
        }
        return decoded.bytes
    }
}

extension JSONObject {
    fileprivate func refusePrivate(_ name: StaticString) {
        refuse(
            name, .privateKey,
            "This is a member of a private key. Send the public key, and replace this one: it was shown.")
    }
}

extension JSONFault.Code {
    static let invalidKey = JSONFault.Code(rawValue: "invalid-key")
    /// A member of a private key where a public one belongs.
    static let privateKey = JSONFault.Code(rawValue: "private-key")
}

import Basics
import PushRegistry
import StrictJSON

/// A JSON Web Key Set (RFC 7517) as an app's policy stores it: the relevant members of each key, all of them strings.
/// It may contain symmetric keys (`kty` `oct`), whose member `k` is a secret.
///
/// The policy and the verification of JWTs use the same parser, so an accepted set is one that works.
struct JWKS {
    static let keysMax = 100

    /// The members of each key by name.
    private let members: [[String: String]]
    /// The keys that verify signatures.
    let keys: [UserTokenKeys.Key]

    /// Parses the `jwks` of a policy. A key that cannot verify anything is a fault, reported at its member.
    ///
    /// - Parameter stored: the current set. A symmetric key without a secret keeps the stored secret of its `kid`.
    init?(_ set: JSONObject, replacing stored: JWKS?) {
        guard let array = set.array("keys", .required, elementsMax: Self.keysMax) else { return nil }
        var (members, keys): ([[String: String]], [UserTokenKeys.Key]) = ([], [])
        var (names, isForSignatures) = (Set<ExactText>(), false)
        for element in array {
            guard let object = element.object() else {
                isForSignatures = true
                continue
            }
            let reader = JWKReader(object, secret: { kid in stored?.secret(of: kid) })
            members.append(reader.members)
            if let kid = reader.members["kid"], !names.insert(ExactText(kid)).inserted {
                object.refuse(member: "kid", .duplicateMember, "Another key of the set has the same kid.")
            }
            if let key = reader.verificationKey() { keys.append(key) }
            isForSignatures = isForSignatures || reader.isForSignatures
        }
        if !isForSignatures {
            set.refuse(
                member: "keys", .required,
                "No key of the set verifies signatures. Omit jwks if the app has no users' JWTs.")
        }
        (self.members, self.keys) = (members, keys)
    }

    /// Parses a stored set and ignores keys that cannot verify anything.
    init(stored text: String) {
        let set = (try? JSONDocument(Array(text.utf8)))?.root.object()
        let objects = set?.array("keys", elementsMax: Self.keysMax)?.compactMap { $0.object() } ?? []
        let readers = objects.map { JWKReader($0, secret: { _ in nil }) }
        self.init(members: readers.map(\.members), keys: readers.compactMap { $0.verificationKey() })
    }

    /// Parses a set that an identity provider publishes. It ignores keys that a policy could not contain: keys that
    /// cannot verify anything, a second key with the same `kid`, and symmetric and private keys, which are exposed.
    ///
    /// - Returns: the set and the number of ignored keys, without those for encryption; nil if this is not a key set.
    static func published(_ text: [UInt8]) -> (set: JWKS, ignored: Int)? {
        guard let document = try? JSONDocument(text), let root = document.root.object(),
            let array = root.array("keys", .required, elementsMax: keysMax), document.faults.isEmpty
        else { return nil }
        var (keys, names, ignored) = ([UserTokenKeys.Key](), Set<ExactText>(), 0)
        for element in array {
            let reader = element.object().map { JWKReader($0, secret: { _ in nil }) }
            if let reader, !reader.isForSignatures { continue }
            let key = reader?.verificationKey()
            if let key, reader?.isPrivate == false, key.algorithm != .hs256,
                key.id.map({ names.insert($0).inserted }) ?? true
            {
                keys.append(key)
            } else {
                ignored += 1
            }
        }
        return (JWKS(members: [], keys: keys), ignored)
    }

    private init(members: [[String: String]], keys: [UserTokenKeys.Key]) {
        (self.members, self.keys) = (members, keys)
    }

    /// The JSON to store.
    var text: String { text(of: members) }

    /// The JSON without the secrets of symmetric keys.
    var publicText: String { text(of: members.map { key in key.filter { $0.key != "k" } }) }

    private func secret(of kid: String) -> String? {
        members.first { $0["kid"].map { ExactText($0) } == ExactText(kid) }?["k"]
    }

    private func text(of keys: [[String: String]]) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.array("keys", keys) { $0.strings($1) }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension JSONWriter {
    fileprivate mutating func strings(_ members: [String: String]) {
        object { writer in
            for name in JWKReader.names {
                guard let value = members[name.description] else { continue }
                writer.name(name)
                writer.string(value)
            }
        }
    }
}

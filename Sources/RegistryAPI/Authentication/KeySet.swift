import PushRegistry
import StrictJSON

/// A JSON Web Key Set (RFC 7517) as an app's policy keeps it: of each key the members that count, all of them strings.
/// It may hold symmetric keys (`kty` `oct`), whose member `k` is a secret.
///
/// One reader serves the policy and the verification, so that a set that was accepted works.
struct KeySet {
    static let keysMax = 100

    /// Each key's members by name.
    private let members: [[String: String]]
    /// The keys that verify signatures.
    let keys: [UserTokenKeys.Key]

    /// Reads the `jwks` of a policy. What cannot work is a fault at its member.
    ///
    /// - Parameter stored: the set that is replaced: a symmetric key that comes without its secret keeps the one of its
    ///   `kid`.
    init?(_ set: JSONObject, replacing stored: KeySet?) {
        guard let array = set.array("keys", .required, elementsMax: Self.keysMax) else { return nil }
        var (members, keys): ([[String: String]], [UserTokenKeys.Key]) = ([], [])
        var (names, isForSignatures) = (Set<String>(), false)
        for element in array {
            guard let object = element.object() else {
                isForSignatures = true
                continue
            }
            let reader = KeyReader(object, secret: { kid in stored?.secret(of: kid) })
            members.append(reader.members)
            if let kid = reader.members["kid"], !names.insert(kid).inserted {
                object.refuse("kid", .duplicateMember, "Another key of the set has this kid.")
            }
            if let key = reader.verificationKey() { keys.append(key) }
            isForSignatures = isForSignatures || reader.isForSignatures
        }
        if !isForSignatures {
            set.refuse(
                "keys", .required,
                "No key of the set verifies signatures. Leave jwks out if the app has no users' JWTs.")
        }
        (self.members, self.keys) = (members, keys)
    }

    /// Reads a stored set, and leaves out what cannot work.
    init(stored text: String) {
        var (members, keys): ([[String: String]], [UserTokenKeys.Key]) = ([], [])
        if let document = try? JSONDocument(Array(text.utf8)), let set = document.root.object(),
            let array = set.array("keys", elementsMax: Self.keysMax)
        {
            for element in array {
                guard let object = element.object() else { continue }
                let reader = KeyReader(object, secret: { _ in nil })
                members.append(reader.members)
                if let key = reader.verificationKey() { keys.append(key) }
            }
        }
        (self.members, self.keys) = (members, keys)
    }

    /// Reads a set that an identity provider publishes, and leaves out what a policy could not have: what cannot
    /// work, a second key of a `kid`, and every key that is no secret any more, which are symmetric and private ones.
    ///
    /// - Returns: the set, and how many keys were left out; keys for encryption are no loss. Nil for what is no set.
    static func published(_ text: [UInt8]) -> (set: KeySet, refused: Int)? {
        guard let document = try? JSONDocument(text), let root = document.root.object(),
            let array = root.array("keys", .required, elementsMax: keysMax), document.faults.isEmpty
        else { return nil }
        var (keys, names, refused) = ([UserTokenKeys.Key](), Set<String>(), 0)
        for element in array {
            let reader = element.object().map { KeyReader($0, secret: { _ in nil }) }
            if let reader, !reader.isForSignatures { continue }
            let key = reader?.verificationKey()
            if let key, reader?.isPrivate == false, key.algorithm != .hs256,
                key.id.map({ names.insert($0).inserted }) ?? true
            {
                keys.append(key)
            } else {
                refused += 1
            }
        }
        return (KeySet(members: [], keys: keys), refused)
    }

    private init(members: [[String: String]], keys: [UserTokenKeys.Key]) {
        (self.members, self.keys) = (members, keys)
    }

    /// As it is stored.
    var text: String { text(of: members) }

    /// Without the secrets of symmetric keys.
    var publicText: String { text(of: members.map { key in key.filter { $0.key != "k" } }) }

    private func secret(of kid: String) -> String? {
        members.first { $0["kid"] == kid }?["k"]
    }

    private func text(of keys: [[String: String]]) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("keys")
            writer.array { writer in
                for key in keys { writer.strings(key) }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension JSONWriter {
    fileprivate mutating func strings(_ members: [String: String]) {
        object { writer in
            for name in KeyReader.names {
                guard let value = members[name.description] else { continue }
                writer.name(name)
                writer.string(value)
            }
        }
    }
}

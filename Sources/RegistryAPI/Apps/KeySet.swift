import Foundation

/// A JSON Web Key Set (RFC 7517) as an app's policy keeps it. It may hold symmetric keys (`kty` `oct`), whose member `k`
/// is a secret.
struct KeySet {
    private var keys: [[String: Any]]

    /// Reads a text that was checked before; one that is no key set has no keys.
    init(text: String) {
        let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        keys = object?["keys"] as? [[String: Any]] ?? []
    }

    /// The set without the symmetric keys' secrets.
    var publicText: String {
        text(
            of: keys.map { key in
                guard key["kty"] as? String == "oct" else { return key }
                return key.filter { $0.key != "k" }
            })
    }

    /// The whole set, where each symmetric key that was sent without its secret has that of the stored key of its `kid`.
    func text(keepingSecretsOf stored: KeySet) -> String {
        text(
            of: keys.map { key in
                guard key["kty"] as? String == "oct", key["k"] == nil, let secret = stored.secret(of: key["kid"]) else {
                    return key
                }
                return key.merging(["k": secret]) { sent, _ in sent }
            })
    }

    /// Where a symmetric key lacks its secret, by index.
    var indicesWithoutSecret: [Int] {
        keys.indices.filter { keys[$0]["kty"] as? String == "oct" && !(keys[$0]["k"] is String) }
    }

    private func secret(of kid: Any?) -> String? {
        guard let kid = kid as? String else { return nil }
        return keys.first { $0["kid"] as? String == kid }?["k"] as? String
    }

    private func text(of keys: [[String: Any]]) -> String {
        let data = try? JSONSerialization.data(withJSONObject: ["keys": keys], options: [.sortedKeys])
        return String(decoding: data ?? Data(), as: UTF8.self)
    }
}

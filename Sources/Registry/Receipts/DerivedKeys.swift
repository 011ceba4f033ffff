import Basics
import Crypto
import PushRegistry

/// Values that are derived from apps' keys for one purpose, and cached: a derivation costs more than its use.
public final class DerivedKeys<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The most cached values, above the number of keys in use; a full cache is emptied.
    private static var cachedMax: Int { 4_096 }

    private let derive: @Sendable (Key) -> Value
    private let cache = Locked<[Key: Value]>([:])

    public init(_ derive: @escaping @Sendable (Key) -> Value) {
        self.derive = derive
    }

    public subscript(key: Key) -> Value {
        if let known = cache.withLock({ $0[key] }) { return known }
        let value = derive(key)
        cache.withLock { cache in
            if cache.count >= Self.cachedMax { cache.removeAll() }
            cache[key] = value
        }
        return value
    }
}

extension SymmetricKey {
    /// A key for one purpose (HKDF, RFC 5869). A key of one purpose reveals nothing about those of others.
    public init(derivedFrom bytes: [UInt8], for purpose: String) {
        self = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: bytes), info: Array(purpose.utf8), outputByteCount: 32)
    }
}

/// The keys that seal receipts, one for each signing key of an app. A process has one value.
public struct ReceiptKeys: Sendable {
    private let keys = DerivedKeys { (key: AppSigningKey) in
        SymmetricKey(derivedFrom: key.key, for: "receipts: sealing")
    }

    public init() {}

    subscript(signingKey: AppSigningKey) -> SymmetricKey { keys[signingKey] }
}

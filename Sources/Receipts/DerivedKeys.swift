import Crypto
import PushRegistry
import Synchronization

/// What is derived from apps' signing keys for one purpose. Each is derived once: a derivation costs more than its use.
public final class DerivedKeys<Value: Sendable>: Sendable {
    /// More than enough for all apps of a process; then the cache begins anew.
    private static var cachedMax: Int { 4_096 }

    private let derive: @Sendable (AppSigningKey) -> Value
    private let cache = Mutex<[AppSigningKey: Value]>([:])

    public init(_ derive: @escaping @Sendable (AppSigningKey) -> Value) {
        self.derive = derive
    }

    public subscript(key: AppSigningKey) -> Value {
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
    /// A key for one purpose (HKDF, RFC 5869). Keys of different purposes say nothing about each other.
    public init(derivedFrom bytes: [UInt8], for purpose: String) {
        self = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: bytes), info: Array(purpose.utf8), outputByteCount: 32)
    }
}

import Crypto
import PushRegistry
import Synchronization

/// The keys of receipts, which are derived from the apps' signing keys (HKDF, RFC 5869). One serves a whole process: a
/// derivation costs more than a receipt.
public final class ReceiptKeys: Sendable {
    /// More than enough for all apps of a process; then the cache begins anew.
    private static let cachedMax = 4_096

    private struct Name: Hashable {
        let app: AppNumber
        let number: Int16
    }

    private struct Entry {
        let signingKey: AppSigningKey
        let key: SymmetricKey
    }

    private let cache = Mutex<[Name: Entry]>([:])

    public init() {}

    func key(_ signingKey: AppSigningKey, of app: AppNumber) -> SymmetricKey {
        let name = Name(app: app, number: signingKey.number)
        if let entry = cache.withLock({ $0[name] }), entry.signingKey == signingKey { return entry.key }
        let key = Self.derived(from: signingKey.key, for: "receipts: sealing")
        cache.withLock { cache in
            if cache.count >= Self.cachedMax { cache.removeAll() }
            cache[name] = Entry(signingKey: signingKey, key: key)
        }
        return key
    }

    /// - Parameter purpose: keys of different purposes tell nothing about each other.
    static func derived(from key: [UInt8], for purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: key), info: Array(purpose.utf8), outputByteCount: 32)
    }
}

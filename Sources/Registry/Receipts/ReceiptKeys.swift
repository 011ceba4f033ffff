import Crypto
import PushRegistry

/// The keys that seal receipts, one for each signing key of an app. A process has one value.
public struct ReceiptKeys: Sendable {
    private let keys = DerivedKeys { (key: AppSigningKey) in
        SymmetricKey(derivedFrom: key.key, for: "receipts: sealing")
    }

    public init() {}

    subscript(signingKey: AppSigningKey) -> SymmetricKey { keys[signingKey] }
}

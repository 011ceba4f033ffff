import Crypto
public import PushRegistry

/// Hashes an app's installation ids for receipts. The hash of an id never changes: it makes an installation count once.
public struct InstallationHasher: Sendable {
    let key: SymmetricKey
    /// An HMAC that is initialised with the key, and copied for each id.
    private let begun: HMAC<SHA256>

    public init(_ key: AppIdentityKey) {
        self.key = SymmetricKey(derivedFrom: key.bytes, for: "receipts: installation")
        begun = HMAC(key: self.key)
    }

    public func hash(_ installID: InstallID) -> InstallationHash {
        var text = installID.rawValue
        return text.withUTF8 { hash(UnsafeRawBufferPointer($0)) }
    }

    /// - Parameter installID: its UTF-8.
    public func hash(_ installID: UnsafeRawBufferPointer) -> InstallationHash {
        var code = begun
        code.update(data: installID)
        return InstallationHash(
            code.finalize().withUnsafeBytes { Int64(bigEndian: $0.loadUnaligned(as: Int64.self)) })
    }
}

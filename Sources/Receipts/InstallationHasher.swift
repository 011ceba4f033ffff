import Crypto
public import PushRegistry

/// Hashes an app's installation ids for receipts. The hash of an id never changes: it makes an installation count once.
public struct InstallationHasher: Sendable {
    private let key: SymmetricKey

    public init(_ key: AppIdentityKey) {
        self.key = ReceiptKeys.derived(from: key.bytes, for: "receipts: installation")
    }

    public func hash(_ installID: InstallID) -> InstallationHash {
        var text = installID.rawValue
        return text.withUTF8 { hash(UnsafeRawBufferPointer($0)) }
    }

    /// - Parameter installID: its UTF-8.
    public func hash(_ installID: UnsafeRawBufferPointer) -> InstallationHash {
        let code = HMAC<SHA256>.authenticationCode(for: installID, using: key)
        return InstallationHash(
            code.withUnsafeBytes { Int64(bigEndian: $0.loadUnaligned(as: Int64.self)) })
    }
}

import Basics
import Crypto

/// The key that may do everything on every app. Only its digest is stored.
public struct AdminKey: Sendable {
    /// Shorter keys could be guessed.
    public static let charactersMin = 16

    public let sha256: [UInt8]

    /// Nil for a key shorter than `charactersMin`.
    public init?(_ text: String) {
        guard text.utf8.count >= Self.charactersMin else { return nil }
        sha256 = Array(SHA256.hash(data: Array(text.utf8)))
    }

    /// Nil for a digest of the wrong length.
    public init?(sha256: some Collection<UInt8>) {
        guard sha256.count == SHA256.byteCount else { return nil }
        self.sha256 = Array(sha256)
    }

    /// Compares in constant time. It compares digests, so that not even the length leaks.
    func matches(_ text: String) -> Bool {
        SHA256.hash(data: Array(text.utf8)) == sha256
    }

    /// A new random key, to be shown once.
    public static func makeText() -> String {
        "pra_" + String(hex: SymmetricKey(size: .bits256))
    }
}

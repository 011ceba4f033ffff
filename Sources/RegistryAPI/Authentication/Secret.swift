import Crypto
import PushRegistry

/// A key as its holder shows it: `prk_<id>_<secret>`. The id is public, the secret has 256 random bits. It does not
/// print; `text` is for the one answer that shows it.
struct PresentedKey {
    static let prefix = "prk_"
    static let idCharacters = 16
    /// Longer texts are not looked at.
    static let charactersMax = 128

    let id: String
    private let secret: String

    /// A new key.
    init() {
        id = hex(SymmetricKey(size: .init(bitCount: 64)))
        secret = hex(SymmetricKey(size: .bits256))
    }

    /// Nil where the text is not of a key's form.
    init?(_ text: String) {
        let text = text.utf8
        guard text.count <= Self.charactersMax, text.starts(with: Self.prefix.utf8) else { return nil }
        let rest = text.dropFirst(Self.prefix.utf8.count)
        let secret = rest.dropFirst(Self.idCharacters)
        guard secret.first == UInt8(ascii: "_") else { return nil }
        id = String(decoding: rest.prefix(Self.idCharacters), as: UTF8.self)
        self.secret = String(decoding: secret.dropFirst(), as: UTF8.self)
    }

    var text: String { Self.prefix + id + "_" + secret }

    /// What is stored. The secret is random, so one round of SHA-256 is as good as many.
    var sha256: [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }

    /// Compares in constant time.
    func matches(_ stored: [UInt8]) -> Bool {
        SHA256.hash(data: Array(secret.utf8)) == stored
    }
}

extension PresentedKey: CustomStringConvertible, CustomReflectable {
    var description: String { "‹key \(id)›" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// The key that may do everything on every app. Only its digest is kept.
public struct AdminKey: Sendable {
    /// Shorter keys can be guessed.
    public static let charactersMin = 16

    public let sha256: [UInt8]

    /// Nil for a key that is too short to be safe.
    public init?(_ text: String) {
        guard text.utf8.count >= Self.charactersMin else { return nil }
        sha256 = Array(SHA256.hash(data: Array(text.utf8)))
    }

    /// A key of which only the digest was kept; nil for what is none.
    public init?(sha256: some Collection<UInt8>) {
        guard sha256.count == SHA256.byteCount else { return nil }
        self.sha256 = Array(sha256)
    }

    /// Compares in constant time: over digests, so that not even the length shows.
    func matches(_ text: String) -> Bool {
        SHA256.hash(data: Array(text.utf8)) == sha256
    }

    /// A new key, to be shown once.
    public static func makeText() -> String {
        "pra_" + hex(SymmetricKey(size: .bits256))
    }
}

private func hex(_ key: SymmetricKey) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return key.withUnsafeBytes { bytes in
        String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

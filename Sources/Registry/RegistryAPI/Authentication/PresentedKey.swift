import Basics
import Crypto

/// An API key as a client sends it: `prk_<id>_<secret>`. The id is public, the secret has 256 random bits. It does not
/// print; `text` is only for the response that creates the key.
struct PresentedKey {
    static let prefix = "prk_"
    static let idCharacters = 16
    /// Longer texts are not parsed.
    static let charactersMax = 128

    let id: String
    private let secret: String

    /// Creates a random key.
    init() {
        id = String(hex: SymmetricKey(size: .init(bitCount: 64)))
        secret = String(hex: SymmetricKey(size: .bits256))
    }

    /// Nil if the text does not have the form of a key.
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

    /// The stored digest. The secret is random, so one round of SHA-256 is enough.
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

extension String {
    /// The lower-case hexadecimal digits of a random key.
    init(hex key: SymmetricKey) {
        self = key.withUnsafeBytes { String(hex: $0) }
    }
}

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

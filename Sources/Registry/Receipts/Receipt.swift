import Basics
import Crypto
public import PushRegistry

/// A receipt in its form on the wire: a version, the numbers of a signing key and of its app, and the sealed content
/// (AES-256-GCM, RFC 5116). Base64url without padding, 80 characters.
///
/// Without the key, a receipt reveals only these numbers, which all receipts of the app have in common, and not that
/// another receipt is of the same installation.
public struct Receipt: Sendable {
    public static let charactersCount = 80

    private static let version: UInt8 = 1
    static let headerBytes = 7
    static let nonceBytes = 12
    static let tagBytes = 16
    static let bytesCount = headerBytes + nonceBytes + ReceiptContent.bytesCount + tagBytes

    public let app: AppNumber
    public let keyNumber: Int16
    private let bytes: [UInt8]

    /// Nil for a text without the form of a receipt. This does not authenticate the content.
    public init?(_ text: String) {
        guard text.utf8.count == Self.charactersCount, let bytes = Base64URL(text)?.bytes,
            bytes.count == Self.bytesCount, bytes[0] == Self.version
        else { return nil }
        self.bytes = bytes
        keyNumber = Int16(bitPattern: UInt16(bytes[1]) << 8 | UInt16(bytes[2]))
        app = AppNumber(Int32(bitPattern: bytes[3..<7].reduce(0) { $0 << 8 | UInt32($1) }))
    }

    /// The content; nil if this app has not sealed the receipt. GCM compares the tag in constant time.
    public func open(_ app: App, _ keys: ReceiptKeys) -> ReceiptContent? {
        guard app.number == self.app, let signingKey = app.signingKeys.last(where: { $0.number == keyNumber }) else {
            return nil
        }
        let nonceEnd = Self.headerBytes + Self.nonceBytes
        let tagStart = Self.bytesCount - Self.tagBytes
        guard let nonce = try? AES.GCM.Nonce(data: bytes[Self.headerBytes..<nonceEnd]),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce, ciphertext: bytes[nonceEnd..<tagStart], tag: bytes[tagStart...]),
            let content = try? AES.GCM.open(
                box, using: keys[signingKey], authenticating: bytes[..<Self.headerBytes])
        else { return nil }
        return ReceiptContent(content)
    }

    /// The header of an app's receipts by this key.
    static func header(_ key: AppSigningKey, of app: AppNumber) -> [UInt8] {
        var bytes = [version]
        withUnsafeBytes(of: key.number.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: app.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }
}

/// Seals receipts of one message with the app's newest key.
public struct ReceiptSealer: Sendable {
    let header: [UInt8]
    let key: SymmetricKey
    let hasher: InstallationHasher
    private let message: MessageNumber
    private let expiresAt: Timestamp

    /// Nil for an app without a signing key. Every app in the directory has one.
    public init?(_ message: Message, of app: App, _ keys: ReceiptKeys) {
        guard let newest = app.signingKeys.last else { return nil }
        header = Receipt.header(newest, of: app.number)
        key = keys[newest]
        hasher = InstallationHasher(app.identityKey)
        self.message = message.number
        expiresAt = message.expiresAt
    }

    func content(of installation: InstallationHash, in cell: Int64) -> ReceiptContent {
        ReceiptContent(message: message, installation: installation, cell: cell, expiresAt: expiresAt)
    }

    public func hash(_ installID: InstallID) -> InstallationHash { hasher.hash(installID) }

    /// One receipt in base64url.
    ///
    /// - Throws: `StoreError.failed`.
    public func seal(_ installID: InstallID, in cell: Int64) throws(StoreError) -> String {
        var bytes: [UInt8] = []
        try ReceiptEncoder(self).append(hash(installID), in: cell, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Random bytes of the system, many at a time: a system call costs as much as a receipt.
struct RandomBytes {
    private static let wordsMax = 512

    private var bytes: [UInt8] = []
    /// The bytes before it are used up. They stay in the buffer: removing them would copy it for each slice.
    private var position = 0

    /// - Parameter count: at most 4,096.
    mutating func next(_ count: Int) -> ArraySlice<UInt8> {
        if bytes.count - position < count {
            bytes = SymmetricKey(size: SymmetricKeySize(bitCount: 64 * Self.wordsMax)).withUnsafeBytes { Array($0) }
            position = 0
        }
        defer { position += count }
        return bytes[position..<position + count]
    }
}

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

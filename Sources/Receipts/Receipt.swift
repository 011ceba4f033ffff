import ByteText
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
    private static let headerBytes = 7
    static let nonceBytes = 12
    private static let tagBytes = 16
    private static let bytesCount = headerBytes + nonceBytes + ReceiptContent.bytesCount + tagBytes

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
    private let header: [UInt8]
    private let key: SymmetricKey
    private let hasher: InstallationHasher
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

    public func hash(_ installID: UnsafeRawBufferPointer) -> InstallationHash { hasher.hash(installID) }

    public func hash(_ installID: InstallID) -> InstallationHash { hasher.hash(installID) }

    /// A new receipt in base64url. No two are equal.
    ///
    /// - Parameters:
    ///   - cell: of the installation, now.
    ///   - nonces: at least 12 random bytes; the last ones are used up.
    /// - Throws: `StoreError.failed`.
    public func seal(
        _ installation: InstallationHash, in cell: Int64, _ nonces: inout RandomBytes
    ) throws(StoreError) -> [UInt8] {
        var content: [UInt8] = []
        content.reserveCapacity(ReceiptContent.bytesCount)
        ReceiptContent(message: message, installation: installation, cell: cell, expiresAt: expiresAt)
            .append(to: &content)
        do {
            let nonce = try AES.GCM.Nonce(data: nonces.next(Receipt.nonceBytes))
            let box = try AES.GCM.seal(content, using: key, nonce: nonce, authenticating: header)
            guard let sealed = box.combined else { throw StoreError.failed("a receipt has no combined form") }
            return Base64URL.text(of: header + sealed)
        } catch {
            throw .failed("a receipt cannot be sealed: \(error)")
        }
    }

    /// One receipt.
    ///
    /// - Throws: `StoreError.failed`.
    public func seal(_ installID: InstallID, in cell: Int64) throws(StoreError) -> String {
        var nonces = RandomBytes()
        return String(decoding: try seal(hash(installID), in: cell, &nonces), as: UTF8.self)
    }
}

/// Random bytes of the system, many at a time: a system call costs as much as a receipt.
public struct RandomBytes: Sendable {
    private static let wordsMax = 512

    private var bytes: [UInt8] = []
    /// The bytes before it are used up. They stay in the buffer: removing them would copy it for each slice.
    private var position = 0

    public init() {}

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

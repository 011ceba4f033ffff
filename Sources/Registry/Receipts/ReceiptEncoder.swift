import Basics
import COpenSSL
import Crypto
public import PushRegistry

/// Seals receipts of one message, with one key schedule for all and without an allocation for each, because an export
/// writes millions. Only one thread at a time may use it.
public final class ReceiptEncoder {
    private let sealer: ReceiptSealer
    private let cipher: ReceiptCipher
    private let hasher: KeyedHash
    private var nonces = RandomBytes()
    /// The buffer of the current receipt.
    private var receipt: [UInt8] = []

    /// - Throws: `StoreError.failed` if libcrypto has no memory.
    public init(_ sealer: ReceiptSealer) throws(StoreError) {
        self.sealer = sealer
        cipher = try ReceiptCipher(sealer.key)
        hasher = try KeyedHash(sealer.hasher.key)
        receipt.reserveCapacity(Receipt.bytesCount)
    }

    /// - Parameter installID: its UTF-8.
    /// - Throws: `StoreError.failed`.
    public func hash(_ installID: UnsafeRawBufferPointer) throws(StoreError) -> InstallationHash {
        InstallationHash(try hasher.hash(installID))
    }

    /// Appends a new receipt in base64url. No two are equal.
    ///
    /// - Parameter cell: of the installation, now.
    /// - Throws: `StoreError.failed`.
    public func append(
        _ installation: InstallationHash, in cell: Int64, to bytes: inout [UInt8]
    ) throws(StoreError) {
        receipt.removeAll(keepingCapacity: true)
        receipt.append(contentsOf: sealer.header)
        receipt.append(contentsOf: nonces.next(Receipt.nonceBytes))
        sealer.content(of: installation, in: cell).append(to: &receipt)
        receipt.append(contentsOf: repeatElement(0, count: Receipt.tagBytes))
        guard receipt.withUnsafeMutableBytes(cipher.seal) else {
            throw .failed("a receipt cannot be sealed")
        }
        Base64URL.append(receipt, to: &bytes)
    }
}

/// AES-256-GCM with one key: owns a context of libcrypto (EVP_EncryptInit(3)), which keeps the key's schedule.
private final class ReceiptCipher {
    private let context: OpaquePointer

    init(_ key: SymmetricKey) throws(StoreError) {
        guard let context = EVP_CIPHER_CTX_new() else { throw .failed("libcrypto has no memory for a cipher") }
        self.context = context
        let isReady = key.withUnsafeBytes { EVP_EncryptInit_ex2(context, EVP_aes_256_gcm(), $0.baseAddress, nil, nil) }
        guard isReady == 1 else { throw .failed("libcrypto refuses AES-256-GCM") }
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    /// Encrypts the content of a receipt in place, and writes its tag.
    ///
    /// - Parameter receipt: header, nonce, content, and space for the tag.
    /// - Returns: whether libcrypto did it.
    func seal(_ receipt: UnsafeMutableRawBufferPointer) -> Bool {
        guard let start = receipt.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
        let nonce = start + Receipt.headerBytes
        let content = nonce + Receipt.nonceBytes
        let tag = content + ReceiptContent.bytesCount
        var count: CInt = 0
        return EVP_EncryptInit_ex2(context, nil, nil, nonce, nil) == 1
            && EVP_EncryptUpdate(context, nil, &count, start, CInt(Receipt.headerBytes)) == 1
            && EVP_EncryptUpdate(context, content, &count, content, CInt(ReceiptContent.bytesCount)) == 1
            && EVP_EncryptFinal_ex(context, tag, &count) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(Receipt.tagBytes), tag) == 1
    }
}

/// HMAC-SHA256 with one key, of which the first 64 bits count, as `InstallationHasher` has them: owns a context of
/// libcrypto (EVP_MAC(3)).
private final class KeyedHash {
    private let context: OpaquePointer

    init(_ key: SymmetricKey) throws(StoreError) {
        let code = EVP_MAC_fetch(nil, OSSL_MAC_NAME_HMAC, nil)
        defer { EVP_MAC_free(code) }
        guard let context = EVP_MAC_CTX_new(code) else { throw .failed("libcrypto has no memory for HMAC") }
        self.context = context
        var name = Array("SHA256".utf8CString)
        let isReady = name.withUnsafeMutableBufferPointer { name in
            var parameters = [
                OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.baseAddress, 0),
                OSSL_PARAM_construct_end(),
            ]
            return key.withUnsafeBytes { EVP_MAC_init(context, $0.baseAddress, $0.count, &parameters) }
        }
        guard isReady == 1 else { throw .failed("libcrypto refuses HMAC-SHA256") }
    }

    deinit { EVP_MAC_CTX_free(context) }

    func hash(_ bytes: UnsafeRawBufferPointer) throws(StoreError) -> Int64 {
        var (digest, count) = ((UInt64(0), UInt64(0), UInt64(0), UInt64(0)), 0)
        let isDone = withUnsafeMutableBytes(of: &digest) { digest in
            // Without a key: the one of the last initialisation, from the beginning.
            EVP_MAC_init(context, nil, 0, nil) == 1
                && EVP_MAC_update(context, bytes.baseAddress, bytes.count) == 1
                && EVP_MAC_final(context, digest.baseAddress, &count, digest.count) == 1
        }
        guard isDone else { throw .failed("an installation cannot be hashed") }
        return Int64(bitPattern: UInt64(bigEndian: digest.0))
    }
}

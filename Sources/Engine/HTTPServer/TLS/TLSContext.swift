import Basics
import COpenSSL
import Logging

/// The owner of an `SSL_CTX`: a certificate, its key, the protocol settings and the resumable sessions.
///
/// All loops share one context, so that a session can resume on any loop; libssl does the locking.
final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer

    /// - Throws: `TLSError` that names the faulty file and the reason.
    init(_ files: TLSFiles) throws {
        pointer = try Self.make()
        try setRules()
        try load(files)
    }

    /// Uses the certificate and key of `other`, with new keys for session tickets.
    init(copying other: TLSContext) throws {
        pointer = try Self.make()
        try setRules()
        guard SSL_CTX_copy_identity_(pointer, other.pointer) == 1 else {
            throw TLSError(doing: "copy the certificate and its key")
        }
    }

    private static func make() throws -> OpaquePointer {
        ERR_clear_error()
        guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw TLSError(doing: "set up TLS") }
        return pointer
    }

    deinit { SSL_CTX_free(pointer) }

    /// With these groups a key exchange takes less than a millisecond. OpenSSL also offers finite fields of
    /// up to 8,192 bits, where one exponentiation takes tens of milliseconds (CVE-2002-20001).
    private static let groups = "X25519:P-256:P-384"

    /// TLS 1.3, or 1.2 with forward secrecy and authenticated ciphers only; HTTP/1.1 by ALPN.
    private func setRules() throws {
        // OpenSSL's default order begins with AES-256, which no request here needs.
        let suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
        guard SSL_CTX_set_min_proto_version_(pointer, TLS1_2_VERSION) == 1,
            SSL_CTX_set_cipher_list(pointer, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1,
            SSL_CTX_set_ciphersuites(pointer, suites) == 1,
            SSL_CTX_set1_groups_list_(pointer, Self.groups) == 1
        else { throw TLSError(doing: "set the versions, ciphers and groups of TLS") }
        // A client resumes with one ticket, so the second one that libssl sends by default is wasted.
        SSL_CTX_set_num_tickets(pointer, 1)
        // Read a whole record from the BIO at once, instead of its header first.
        _ = SSL_CTX_set_read_ahead_(pointer, 1)
        let options = SSL_OP_NO_RENEGOTIATION_ | SSL_OP_NO_COMPRESSION_ | SSL_OP_CIPHER_SERVER_PREFERENCE_
        _ = SSL_CTX_set_options(pointer, options | SSL_OP_PRIORITIZE_CHACHA_)
        let modes = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
        _ = SSL_CTX_set_mode_(pointer, Int(modes))
        let identity = Array("push-registry".utf8)
        SSL_CTX_set_session_id_context(pointer, identity, UInt32(identity.count))
        SSL_CTX_set_alpn_select_cb(
            pointer,
            { _, out, outLength, offered, offeredLength, _ in
                selectHTTP11(into: out, length: outLength, offered: offered, offeredLength: offeredLength)
            }, nil)
    }

    private func load(_ files: TLSFiles) throws {
        guard SSL_CTX_use_certificate_chain_file(pointer, files.certificateChain) == 1 else {
            throw TLSError(doing: "use the certificate chain in \(files.certificateChain)")
        }
        var isEncrypted = false
        let isUsed = withUnsafeMutablePointer(to: &isEncrypted) { isEncrypted in
            // By default libssl asks for the pass phrase at the terminal.
            SSL_CTX_set_default_passwd_cb(pointer) { _, _, _, isEncrypted in
                isEncrypted?.storeBytes(of: true, as: Bool.self)
                return -1
            }
            SSL_CTX_set_default_passwd_cb_userdata(pointer, isEncrypted)
            defer { SSL_CTX_set_default_passwd_cb_userdata(pointer, nil) }
            return SSL_CTX_use_PrivateKey_file(pointer, files.privateKey, SSL_FILETYPE_PEM) == 1
        }
        guard isUsed, SSL_CTX_check_private_key(pointer) == 1 else {
            let hint = isEncrypted ? " without a pass phrase" : ""
            throw TLSError(doing: "use the private key in \(files.privateKey)\(hint)")
        }
    }
}

/// The certificate and key in use. They can be replaced while the server runs.
///
/// The context holds the keys that encrypt session tickets. Whoever gets such a key can decrypt the
/// sessions that were resumed with it, so the context is replaced from time to time, and its keys are deleted.
final class ReloadableTLSContext: Sendable {
    /// How long tickets of one key are accepted. A client that comes later makes a full handshake.
    static let ticketKeyLifetime = Duration.seconds(8 * 3_600)

    private let files: TLSFiles
    private let logger: Logger
    private let current: Locked<(context: TLSContext, since: ContinuousClock.Instant)>

    init(_ files: TLSFiles, logger: Logger, now: ContinuousClock.Instant = .now) throws {
        self.files = files
        self.logger = logger
        current = Locked((try TLSContext(files), now))
    }

    /// The context for a new connection. Open connections keep theirs.
    func context(now: ContinuousClock.Instant) -> TLSContext {
        current.withLock { current in
            if now - current.since >= Self.ticketKeyLifetime {
                current = (withNewTicketKeys(current.context), now)
            }
            return current.context
        }
    }

    /// A copy of `context`; `context` itself if libssl cannot copy it.
    private func withNewTicketKeys(_ context: TLSContext) -> TLSContext {
        do {
            return try TLSContext(copying: context)
        } catch {
            logger.error("the keys of TLS session tickets could not be replaced", metadata: ["error": "\(error)"])
            return context
        }
    }

    func reload(now: ContinuousClock.Instant = .now) throws {
        let context = try TLSContext(files)
        current.withLock { $0 = (context, now) }
    }
}

/// RFC 7301 section 3.2: a client whose ALPN list lacks our protocol gets an alert.
private func selectHTTP11(
    into out: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, length outLength: UnsafeMutablePointer<UInt8>?,
    offered: UnsafePointer<UInt8>?, offeredLength: UInt32
) -> CInt {
    let list = UnsafeBufferPointer(start: offered, count: Int(offeredLength))
    var index = 0
    while index < list.count {
        let name = index + 1..<min(index + 1 + Int(list[index]), list.count)
        if list[name].elementsEqual("http/1.1".utf8) {
            out?.pointee = list.baseAddress.map { $0 + name.lowerBound }
            outLength?.pointee = UInt8(name.count)
            return SSL_TLSEXT_ERR_OK
        }
        index = name.upperBound
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}

/// The reason why TLS cannot be offered.
public struct TLSError: Error, CustomStringConvertible {
    /// The step that failed: `use the private key in key.pem`.
    public let step: String
    /// libssl's reason.
    public let reason: String

    public var description: String { "cannot \(step): \(reason)" }

    /// Takes the first reason from this thread's libssl error queue, and empties the queue.
    init(doing step: String) {
        let code = ERR_get_error()
        ERR_clear_error()
        self.step = step
        reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "unknown error"
    }
}

/// The server's certificate and key, as PEM files.
public struct TLSFiles: Sendable {
    /// The file of the certificate, followed by the intermediate certificates between it and the root.
    public var certificateChain: String
    /// The file of the key that belongs to the first certificate.
    public var privateKey: String

    /// Paths only: `HTTPServer.init` and `HTTPServer.reloadTLS` read the files.
    public init(certificateChain: String, privateKey: String) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
    }
}

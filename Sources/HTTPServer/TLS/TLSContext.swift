import COpenSSL
import Foundation
import Logging

/// The owner of an `SSL_CTX`: a certificate, its key, the rules of the protocol and the sessions to resume.
///
/// All loops share one, so that a session resumes on whichever it comes back to; libssl locks what it must.
final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer

    /// - Throws: `TLSError` naming the file that is wrong, and why.
    init(_ files: TLSFiles) throws {
        pointer = try Self.make()
        try setRules()
        try load(files)
    }

    /// With the certificate and key of `other`, and with keys for session tickets of its own.
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

    /// What a ClientHello can make the loop's thread compute takes a fraction of a millisecond with these. OpenSSL
    /// offers finite fields of up to 8,192 bits too, of which one exponentiation takes tens of them (CVE-2002-20001).
    private static let groups = "X25519:P-256:P-384"

    /// TLS 1.2 with forward secrecy and authenticated ciphers only, or 1.3; HTTP/1.1 by ALPN.
    private func setRules() throws {
        // libssl's own order of suites begins with 256 bits, which no request here needs.
        let suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
        guard SSL_CTX_set_min_proto_version_(pointer, TLS1_2_VERSION) == 1,
            SSL_CTX_set_cipher_list(pointer, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1,
            SSL_CTX_set_ciphersuites(pointer, suites) == 1,
            SSL_CTX_set1_groups_list_(pointer, Self.groups) == 1
        else { throw TLSError(doing: "set the versions, ciphers and groups of TLS") }
        // A client comes back with one session; the second ticket that libssl would send costs it bytes for nothing.
        SSL_CTX_set_num_tickets(pointer, 1)
        // A record is taken from memory in one piece, not its header first.
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
                selectHTTP11(out, outLength, offered, offeredLength)
            }, nil)
    }

    private func load(_ files: TLSFiles) throws {
        guard SSL_CTX_use_certificate_chain_file(pointer, files.certificateChain) == 1 else {
            throw TLSError(doing: "use the certificate chain in \(files.certificateChain)")
        }
        guard SSL_CTX_use_PrivateKey_file(pointer, files.privateKey, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(pointer) == 1
        else {
            throw TLSError(doing: "use the private key in \(files.privateKey)")
        }
    }
}

/// The certificate and key in use, which can be exchanged while the server runs.
///
/// The keys that seal session tickets are its context's and live as long: a session that resumes with a ticket has
/// forward secrecy from their end on only. So the context is replaced from time to time.
final class ReloadableTLSContext: @unchecked Sendable {
    /// How long tickets of one key are accepted. A client that comes later shakes hands in full.
    static let ticketKeyLifetime = Duration.seconds(8 * 3_600)

    private let files: TLSFiles
    private let logger: Logger
    private let lock = NSLock()
    private var current: TLSContext
    private var since: ContinuousClock.Instant

    init(_ files: TLSFiles, logger: Logger, now: ContinuousClock.Instant = .now) throws {
        self.files = files
        self.logger = logger
        current = try TLSContext(files)
        since = now
    }

    /// What a new connection uses. Those under way keep what they began with.
    func context(now: ContinuousClock.Instant) -> TLSContext {
        lock.withLock {
            if now - since >= Self.ticketKeyLifetime { replaceTicketKeys(now) }
            return current
        }
    }

    private func replaceTicketKeys(_ now: ContinuousClock.Instant) {
        since = now
        do {
            current = try TLSContext(copying: current)
        } catch {
            logger.error("the keys of TLS session tickets stay in use", metadata: ["error": "\(error)"])
        }
    }

    func reload(now: ContinuousClock.Instant = .now) throws {
        let context = try TLSContext(files)
        lock.withLock { (current, since) = (context, now) }
    }
}

/// RFC 7301 section 3.2: a client that offers protocols, but not ours, is told so by an alert.
private func selectHTTP11(
    _ out: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ outLength: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?, _ offeredLength: UInt32
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

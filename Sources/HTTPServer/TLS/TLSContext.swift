import COpenSSL
import Foundation

/// The owner of an `SSL_CTX`: a certificate, its key, the rules of the protocol and the sessions to resume.
///
/// All loops share one, so that a session resumes on whichever it comes back to; libssl locks what it must.
final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer

    /// - Throws: `TLSError` naming the file that is wrong, and why.
    init(_ files: TLSFiles) throws {
        ERR_clear_error()
        guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw TLSError(doing: "set up TLS") }
        self.pointer = pointer
        setRules()
        try load(files)
    }

    deinit { SSL_CTX_free(pointer) }

    /// TLS 1.2 with forward secrecy and authenticated ciphers only, or 1.3; HTTP/1.1 by ALPN.
    private func setRules() {
        _ = SSL_CTX_set_min_proto_version_(pointer, TLS1_2_VERSION)
        SSL_CTX_set_cipher_list(pointer, "ECDHE+AESGCM:ECDHE+CHACHA20")
        // libssl's own order begins with 256 bits, which no request here needs.
        SSL_CTX_set_ciphersuites(
            pointer, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256")
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
final class TLSIdentity: @unchecked Sendable {
    private let files: TLSFiles
    private let lock = NSLock()
    private var current: TLSContext

    init(_ files: TLSFiles) throws {
        self.files = files
        current = try TLSContext(files)
    }

    /// What a new connection uses. Those under way keep what they began with.
    var context: TLSContext { lock.withLock { current } }

    func reload() throws {
        let context = try TLSContext(files)
        lock.withLock { current = context }
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

extension TLSError {
    /// An error with the first reason in libssl's queue, which is emptied.
    init(doing step: String) {
        let code = ERR_get_error()
        ERR_clear_error()
        let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "unknown error"
        description = "cannot \(step): \(reason)"
    }
}

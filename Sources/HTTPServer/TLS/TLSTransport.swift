import COpenSSL

/// TLS over a socket: the owner of one `SSL`.
///
/// libssl reads and writes memory only (two BIOs). This type reads and writes the socket, so that records are sent
/// together and libssl never blocks. libssl's error queue belongs to the thread and is emptied before each call whose
/// result depends on it.
final class TLSTransport: Transport {
    /// Plaintext bytes encrypted before the ciphertext is sent.
    private static let writeBytesMax = 32 * 1024
    /// The largest memory BIO that an idle connection keeps; enough for small requests. A BIO grows as needed and never
    /// shrinks.
    private static let idleBufferBytesMax = 4 * 1024
    /// The ciphertext read at once, at least: a byte at a time, a record would cost thousands of calls.
    private static let ciphertextBytesMin = 4 * 1024

    private let socket: PlainTransport
    private let ssl: OpaquePointer
    /// Ciphertext received and ciphertext to send; `ssl` owns both.
    private var incoming: OpaquePointer
    private var outgoing: OpaquePointer
    private var unsent: [UInt8] = []
    private var unsentStart = 0
    /// Received ciphertext that was not returned as plaintext yet, at most.
    private var encryptedByteCount = 0
    /// Nothing follows the unsent ciphertext, so the socket is shut down after it.
    private var isFinishing = false
    /// After a fatal error `ssl` may only be freed.
    private var hasFailed = false

    /// Takes over the descriptor. Nil if memory is exhausted.
    init?(descriptor: CInt, context: TLSContext) {
        socket = PlainTransport(descriptor: descriptor)
        guard let ssl = SSL_new(context.pointer) else { return nil }
        self.ssl = ssl
        guard let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem()) else { return nil }
        (self.incoming, self.outgoing) = (incoming, outgoing)
        SSL_set_bio(ssl, incoming, outgoing)
        SSL_set_accept_state(ssl)
    }

    deinit { SSL_free(ssl) }

    var descriptor: CInt { socket.descriptor }
    private var hasUnsentBytes: Bool { !unsent.isEmpty }
    private var isHandshaking: Bool { SSL_is_init_finished(ssl) == 0 }
    var hasUnreadBytes: Bool { !hasFailed && (SSL_has_pending(ssl) == 1 || BIO_ctrl_pending(incoming) > 0) }
    var unreadByteCount: Int { socket.unreadByteCount + encryptedByteCount }

    var status: TransportStatus {
        TransportStatus(
            isHandshaking: isHandshaking, hasUnsentBytes: hasUnsentBytes, encryptedByteCount: encryptedByteCount)
    }

    /// Returns data that libssl already has; else reads ciphertext into `buffer` and decrypts it in place.
    func read(into buffer: UnsafeMutableRawBufferPointer, bytesMax: Int) -> ReadResult {
        guard !hasFailed else { return .failed }
        if hasUnreadBytes {
            let result = decrypt(into: buffer, bytesMax)
            if case .blocked = result {} else { return result }
        }
        // Plaintext that fits is usually one record, and a record is never decrypted in part.
        switch socket.read(into: buffer, bytesMax: max(bytesMax, Self.ciphertextBytesMin)) {
        case .bytes(let count):
            BIO_write(incoming, buffer.baseAddress, CInt(count))
            encryptedByteCount += count
        case let other: return other
        }
        return decrypt(into: buffer, bytesMax)
    }

    /// Decrypts one record, or continues the handshake and sends its messages at once.
    private func decrypt(into buffer: UnsafeMutableRawBufferPointer, _ bytesMax: Int) -> ReadResult {
        guard !hasFailed else { return .failed }
        forgetOldErrors()
        let count = SSL_read(ssl, buffer.baseAddress, CInt(min(buffer.count, bytesMax)))
        encryptedByteCount = hasUnreadBytes ? max(0, encryptedByteCount - Int(max(0, count))) : 0
        let error = SSL_get_error(ssl, count)
        if error == SSL_ERROR_SSL || error == SSL_ERROR_SYSCALL { hasFailed = true }
        guard sendCiphertext(), !hasFailed else { return .failed }
        if count > 0 { return .bytes(Int(count)) }
        return error == SSL_ERROR_ZERO_RETURN ? .end : .blocked
    }

    func write(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> Int? {
        guard !hasFailed else { return nil }
        var taken = 0
        repeat {
            guard sendCiphertext() else { return nil }
            guard !hasUnsentBytes else { return taken }
            let piece = UnsafeRawBufferPointer(rebasing: bytes[taken...].prefix(Self.writeBytesMax))
            guard let count = encrypt(piece) else { return nil }
            taken += count
            guard sendCiphertext() else { return nil }
        } while taken < bytes.count && !hasUnsentBytes
        return taken
    }

    private func encrypt(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var taken = 0
        while taken < bytes.count {
            forgetOldErrors()
            let count = SSL_write(ssl, bytes.baseAddress! + taken, CInt(bytes.count - taken))
            guard count > 0 else {
                hasFailed = true
                return nil
            }
            taken += Int(count)
        }
        return taken
    }

    /// Sends encrypted bytes, as many as the socket takes.
    ///
    /// - Returns: false if the connection is broken.
    private func sendCiphertext() -> Bool {
        if hasUnsentBytes {
            guard
                let count = unsent.withUnsafeBytes({ socket.write(.init(rebasing: $0[unsentStart...]), hasMore: false) }
                )
            else {
                return false
            }
            unsentStart += count
            guard unsentStart == unsent.count else { return true }
            (unsent, unsentStart) = ([], 0)
        }
        guard sendOutgoing() else { return false }
        if isFinishing, !hasUnsentBytes { socket.finishWriting() }
        return true
    }

    private func sendOutgoing() -> Bool {
        var data: UnsafeMutablePointer<CChar>?
        let length = BIO_get_mem_data_(outgoing, &data)
        guard length > 0 else { return true }
        let bytes = UnsafeRawBufferPointer(start: data, count: length)
        guard let count = socket.write(bytes, hasMore: false) else { return false }
        if count < length { unsent = Array(bytes[count...]) }
        _ = BIO_reset_(outgoing)
        return true
    }

    var unacknowledgedByteCount: Int { socket.unacknowledgedByteCount + unsent.count - unsentStart }

    /// The capacity of the two BIOs, whether used or not.
    var bufferByteCount: Int { BIO_get_mem_capacity_(incoming) + BIO_get_mem_capacity_(outgoing) }

    var unsentByteCount: Int { unsent.count }

    func releaseBuffers() {
        guard !hasFailed, !isHandshaking else { return }
        if BIO_ctrl_pending(incoming) == 0, BIO_get_mem_capacity_(incoming) > Self.idleBufferBytesMax,
            let smaller = BIO_new(BIO_s_mem())
        {
            SSL_set0_rbio(ssl, smaller)
            incoming = smaller
        }
        if BIO_ctrl_pending(outgoing) == 0, BIO_get_mem_capacity_(outgoing) > Self.idleBufferBytesMax,
            let smaller = BIO_new(BIO_s_mem())
        {
            SSL_set0_wbio(ssl, smaller)
            outgoing = smaller
        }
    }

    /// Sends `close_notify`, which tells the peer that the data is complete (RFC 8446 section 6.1).
    func finishWriting() {
        if !hasFailed, !isHandshaking {
            forgetOldErrors()
            SSL_shutdown(ssl)
            isFinishing = true
            if sendCiphertext() { return }
        }
        socket.finishWriting()
    }

    func close(reset: Bool) {
        hasFailed = true
        socket.close(reset: reset)
    }

    /// SSL_get_error reads the thread's error queue, so clear stale errors first. It is almost always empty, and
    /// peeking is cheaper than clearing.
    private func forgetOldErrors() {
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }
}

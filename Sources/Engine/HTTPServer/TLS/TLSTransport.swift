import COpenSSL

/// TLS over a socket: the owner of one `SSL`.
///
/// libssl reads and writes memory of this type only (``TLSMemory``). This type reads and writes the socket, so that
/// records are sent together and libssl never blocks. libssl's error queue belongs to the thread and is emptied before
/// each call whose result depends on it.
final class TLSTransport: Transport {
    /// Plaintext bytes encrypted before the ciphertext is sent.
    private static let writeBytesMax = 32 * 1024
    /// The ciphertext read at once, at least: a byte at a time, a record would cost thousands of calls.
    private static let ciphertextBytesMin = 4 * 1024

    private let socket: PlainTransport
    private let ssl: OpaquePointer
    private let memory = TLSMemory()
    /// The ciphertext at the start of the memory's output that is sent.
    private var sentByteCount = 0
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
        guard let bio = memory.makeBIO() else { return nil }
        SSL_set_bio(ssl, bio, bio)
        SSL_set_accept_state(ssl)
    }

    deinit { SSL_free(ssl) }

    var descriptor: CInt { socket.descriptor }
    private var hasUnsentBytes: Bool { !memory.output.isEmpty }
    private var isHandshaking: Bool { SSL_is_init_finished(ssl) == 0 }
    var hasUnreadBytes: Bool { !hasFailed && (SSL_has_pending(ssl) == 1 || !memory.rest.isEmpty) }
    var unreadByteCount: Int { socket.unreadByteCount + encryptedByteCount }

    var status: TransportStatus {
        TransportStatus(
            isHandshaking: isHandshaking, hasUnsentBytes: hasUnsentBytes, encryptedByteCount: encryptedByteCount)
    }

    /// Returns data that was received already; else reads ciphertext into the second half of `buffer` and decrypts it
    /// into the first.
    func read(into buffer: UnsafeMutableRawBufferPointer, bytesMax: Int) -> ReadResult {
        guard !hasFailed else { return .failed }
        let (plaintext, ciphertext) = (buffer.prefix(buffer.count / 2), buffer.dropFirst(buffer.count / 2))
        if hasUnreadBytes {
            let result = memory.takeRest().withUnsafeBytes { decrypt($0, into: .init(rebasing: plaintext), bytesMax) }
            if case .blocked = result {} else { return result }
        }
        let received = UnsafeMutableRawBufferPointer(rebasing: ciphertext)
        // Plaintext that fits is usually one record, and a record is never decrypted in part.
        switch socket.read(into: received, bytesMax: max(bytesMax, Self.ciphertextBytesMin)) {
        case .bytes(let count):
            encryptedByteCount += count
            let bytes = UnsafeRawBufferPointer(rebasing: received.prefix(count))
            return decrypt(bytes, into: .init(rebasing: plaintext), bytesMax)
        case let other: return other
        }
    }

    /// Decrypts one record, or continues the handshake and sends its messages at once.
    private func decrypt(
        _ ciphertext: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer, _ bytesMax: Int
    ) -> ReadResult {
        guard !hasFailed else { return .failed }
        forgetOldErrors()
        let count = memory.reading(ciphertext) {
            SSL_read(ssl, buffer.baseAddress, CInt(min(buffer.count, bytesMax)))
        }
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
            let count = memory.output.withUnsafeBytes {
                socket.write(.init(rebasing: $0[sentByteCount...]), hasMore: false)
            }
            guard let count else { return false }
            sentByteCount += count
            guard sentByteCount == memory.output.count else { return true }
            memory.output.removeAll(keepingCapacity: true)
            sentByteCount = 0
        }
        if isFinishing { socket.finishWriting() }
        return true
    }

    var unacknowledgedByteCount: Int { socket.unacknowledgedByteCount + memory.output.count - sentByteCount }

    /// The memory for ciphertext, whether used or not.
    var bufferByteCount: Int { memory.rest.capacity + memory.output.capacity }

    var unsentByteCount: Int { memory.output.count }

    func releaseBuffers() {
        guard !hasFailed, !isHandshaking, !hasUnsentBytes else { return }
        memory.output = []
        // libssl releases its buffer of a record only when it has found nothing to read. This call does nothing if the
        // buffer is in use.
        SSL_free_buffers(ssl)
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

/// The memory that libssl reads ciphertext from and writes it to, as a BIO (BIO_meth_new(3)). An idle connection has
/// none: libssl's own memory BIOs never shrink.
private final class TLSMemory {
    /// Received ciphertext that libssl has not read.
    private(set) var rest: [UInt8] = []
    /// Ciphertext to send.
    var output: [UInt8] = []
    /// The ciphertext that libssl may read now.
    private var window = UnsafeRawBufferPointer(start: nil, count: 0)

    /// The calls of libssl. Never changed once it is made.
    nonisolated(unsafe) private static let method: OpaquePointer? = {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "push-registry") else { return nil }
        BIO_meth_set_read(method) { bio, bytes, count in
            guard let bytes, let memory = TLSMemory.of(bio) else { return -1 }
            return memory.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)), bio)
        }
        BIO_meth_set_write(method) { bio, bytes, count in
            guard let bytes, let memory = TLSMemory.of(bio) else { return -1 }
            memory.output.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            return count
        }
        // libssl flushes after each flight of a handshake. All that it writes is sent after its call.
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        return method
    }()

    /// For a `SSL`, which owns it and must not outlive this memory. Nil if memory is exhausted.
    func makeBIO() -> OpaquePointer? {
        guard let method = Self.method, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    private static func of(_ bio: OpaquePointer?) -> TLSMemory? {
        BIO_get_data(bio).map { Unmanaged<TLSMemory>.fromOpaque($0).takeUnretainedValue() }
    }

    private func read(into bytes: UnsafeMutableRawBufferPointer, _ bio: OpaquePointer?) -> CInt {
        BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
        guard !window.isEmpty else {
            BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
            return -1
        }
        let count = min(bytes.count, window.count)
        bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: window.prefix(count)))
        window = UnsafeRawBufferPointer(rebasing: window.dropFirst(count))
        return CInt(count)
    }

    /// Runs a call of libssl that may read this ciphertext, and keeps what it leaves.
    func reading<Value>(_ ciphertext: UnsafeRawBufferPointer, _ body: () -> Value) -> Value {
        window = ciphertext
        defer {
            if !window.isEmpty { rest = Array(window) }
            window = UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return body()
    }

    /// Hands over what libssl has not read.
    func takeRest() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &rest)
        return taken
    }
}

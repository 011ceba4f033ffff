import COpenSSL
import Glibc

/// The client's `SSL_CTX`. It accepts every certificate and never resumes a session, so each connection is a full
/// handshake.
final class TLSClient: @unchecked Sendable {
    private let pointer: OpaquePointer

    init() throws {
        guard let pointer = SSL_CTX_new(TLS_client_method()) else {
            throw BenchmarkFailure("libssl cannot create a client")
        }
        self.pointer = pointer
        // One read(2) for all available bytes, like recv(2) without TLS.
        SSL_CTX_ctrl(pointer, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        // libssl writes to sockets without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
    }

    deinit { SSL_CTX_free(pointer) }

    /// Takes over the descriptor and does the handshake. **Blocks**.
    func open(_ descriptor: CInt) throws -> TLSChannel {
        guard let ssl = SSL_new(pointer) else { throw BenchmarkFailure("libssl has no memory") }
        let channel = TLSChannel(descriptor: descriptor, ssl: ssl)
        SSL_set_fd(ssl, descriptor)
        ERR_clear_error()
        guard SSL_connect(ssl) == 1 else {
            channel.close()
            throw BenchmarkFailure("the TLS handshake failed")
        }
        return channel
    }
}

/// The owner of one `SSL` over a socket.
final class TLSChannel: LoadChannel, @unchecked Sendable {
    let descriptor: CInt
    private let ssl: OpaquePointer
    /// After a fatal error `ssl` may only be freed.
    private var hasFailed = false

    init(descriptor: CInt, ssl: OpaquePointer) {
        self.descriptor = descriptor
        self.ssl = ssl
    }

    deinit { SSL_free(ssl) }

    var hasUnreadBytes: Bool { !hasFailed && SSL_has_pending(ssl) == 1 }

    func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        result(SSL_write(ssl, bytes.baseAddress, CInt(bytes.count)))
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        result(SSL_read(ssl, buffer.baseAddress, CInt(buffer.count)))
    }

    /// Converts to the result of a system call. Empties the thread's error queue, which would confuse the next call.
    private func result(_ count: CInt) -> Int {
        guard count <= 0 else { return Int(count) }
        switch SSL_get_error(ssl, count) {
        case SSL_ERROR_ZERO_RETURN: return 0
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: errno = EAGAIN
        default:
            ERR_clear_error()
            (hasFailed, errno) = (true, EPROTO)
        }
        return -1
    }

    func close() {
        if !hasFailed, SSL_is_init_finished(ssl) == 1 { SSL_shutdown(ssl) }
        _ = Glibc.close(descriptor)
    }
}

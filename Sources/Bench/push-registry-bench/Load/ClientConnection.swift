import COpenSSL
import Glibc

/// A client's connection to the local host, plain or encrypted, for what wrk cannot do. Its calls **block**.
final class ClientConnection {
    private static let request = Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    private static let responseBytesMax = 4_096

    private let descriptor: CInt
    private var ssl: OpaquePointer?

    /// Connects, and does the handshake if there is a `tls`.
    init(port: UInt16, tls: TLSClient?) throws {
        descriptor = try Loopback.connect(port: port)
        guard let tls else { return }
        guard let ssl = SSL_new(tls.pointer) else { throw BenchmarkFailure("libssl has no memory") }
        self.ssl = ssl
        SSL_set_fd(ssl, descriptor)
        guard SSL_connect(ssl) == 1 else { throw BenchmarkFailure("the TLS handshake failed") }
    }

    deinit {
        if let ssl {
            if SSL_is_init_finished(ssl) == 1 { SSL_shutdown(ssl) }
            SSL_free(ssl)
        }
        close(descriptor)
    }

    /// Sends `GET /healthz`, and receives the response, which arrives in one piece.
    func get() throws {
        let count = CInt(Self.request.count)
        let sent =
            ssl.map { SSL_write($0, Self.request, count) }
            ?? CInt(send(descriptor, Self.request, Self.request.count, CInt(MSG_NOSIGNAL)))
        guard sent == count else { throw Loopback.Failure(what: "the request was not sent") }
        let received = withUnsafeTemporaryAllocation(byteCount: Self.responseBytesMax, alignment: 1) { buffer in
            ssl.map { SSL_read($0, buffer.baseAddress, CInt(buffer.count)) }
                ?? CInt(recv(descriptor, buffer.baseAddress, buffer.count, 0))
        }
        guard received > 0 else { throw Loopback.Failure(what: "no response") }
    }
}

/// The client's `SSL_CTX`. It accepts every certificate and never resumes a session, so each connection is a full
/// handshake.
final class TLSClient: @unchecked Sendable {
    fileprivate let pointer: OpaquePointer

    init() throws {
        guard let pointer = SSL_CTX_new(TLS_client_method()) else {
            throw BenchmarkFailure("libssl cannot create a client")
        }
        self.pointer = pointer
        // libssl writes to sockets without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
    }

    deinit { SSL_CTX_free(pointer) }
}

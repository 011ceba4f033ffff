import COpenSSL
import Foundation
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

/// TCP on 127.0.0.1.
enum Loopback {
    struct Failure: Error, CustomStringConvertible {
        let what: String
        let number = errno

        var description: String { "\(what): \(String(cString: strerror(number)))" }
    }

    /// - Returns: a blocking socket, which the caller closes.
    static func connect(port: UInt16) throws -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(what: "no socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            let failure = Failure(what: "no connection to 127.0.0.1:\(port)")
            close(descriptor)
            throw failure
        }
        var on: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        return descriptor
    }
}

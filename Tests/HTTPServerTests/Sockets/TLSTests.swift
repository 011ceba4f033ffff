import COpenSSL
import Foundation
import Glibc
import HTTPTypes
import Logging
import Testing

@testable import HTTPServer

/// The client is OpenSSL's own program, which is independent of our code.
@Suite("TLS", .timeLimit(.minutes(5)))
struct TLSTests {
    let files = TemporaryCertificate()

    private func makeServer(_ configure: (inout HTTPServerConfiguration) -> Void = { _ in }) throws -> TestServer {
        try TestServer {
            $0.tls = files.files
            configure(&$0)
        }
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"]) func requestsAreServed_whenTheVersionIs(_ version: String) async throws {
        let server = try makeServer()
        let output = try await blocking {
            try openssl(
                "s_client", "-quiet", "-alpn", "h2,http/1.1", version, "-connect", "127.0.0.1:\(server.port)",
                input:
                    "GET /hello HTTP/1.1\r\nHost: t\r\n\r\nGET /rows HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
        }
        #expect(output.contains("hello"))
        #expect(output.count { $0 == "r" } > 399 * 10_000)
    }

    @Test(arguments: [["-tls1_1"], ["-alpn", "h2"], ["-cipher", "AES128-SHA256", "-tls1_2"]])
    func handshakeFails_whenTheClientOffersOnly(_ offer: [String]) async throws {
        let server = try makeServer()
        let output = try await blocking {
            try openssl(["s_client", "-connect", "127.0.0.1:\(server.port)"] + offer, input: "")
        }
        #expect(output.contains("Cipher is (NONE)"))
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"]) func sessionResumes_whenTheClientReturns(_ version: String) async throws {
        let server = try makeServer()
        let session = files.folder.appending(path: "session").path
        let connect = ["s_client", "-ign_eof", version, "-connect", "127.0.0.1:\(server.port)"]
        let request = "GET /hello HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"
        let output = try await blocking {
            _ = try openssl(connect + ["-sess_out", session], input: request)
            return try openssl(connect + ["-sess_in", session], input: request)
        }
        #expect(output.contains("Reused, TLSv1"))
        #expect(output.contains("hello"))
    }

    @Test(arguments: ["X25519", "P-256", "P-384"]) func handshakeSucceeds_whenTheGroupIs(_ group: String) async throws {
        let server = try makeServer()
        let output = try await blocking {
            try openssl(["s_client", "-groups", group, "-connect", "127.0.0.1:\(server.port)"], input: "")
        }
        #expect(output.contains("Cipher is TLS_AES_128_GCM_SHA256"))
    }

    /// An exponentiation in a field of 8,192 bits would block the loop for tens of milliseconds.
    @Test(arguments: ["ffdhe2048", "ffdhe8192", "P-521"])
    func handshakeFails_whenTheOnlyGroupIs(_ group: String) async throws {
        let server = try makeServer()
        let output = try await blocking {
            try openssl(["s_client", "-groups", group, "-connect", "127.0.0.1:\(server.port)"], input: "")
        }
        #expect(output.contains("handshake failure"))
    }

    @Test func ticketKeysAreReplaced_whenTheirLifetimeIsOver() throws {
        let start = ContinuousClock.now
        let reloadable = try ReloadableTLSContext(
            files.files, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: start)
        let first = reloadable.context(now: start)
        let end = start + ReloadableTLSContext.ticketKeyLifetime
        #expect(reloadable.context(now: end - .seconds(1)) === first)
        let second = reloadable.context(now: end)
        #expect(second !== first)
        #expect(reloadable.context(now: end + .seconds(1)) === second)
        #expect(SSL_CTX_check_private_key(second.pointer) == 1)
        #expect(Self.ticketKeys(second) != Self.ticketKeys(first))
    }

    private static func ticketKeys(_ context: TLSContext) -> [UInt8] {
        var keys = [UInt8](repeating: 0, count: 80)
        #expect(SSL_CTX_ctrl(context.pointer, SSL_CTRL_GET_TLSEXT_TICKET_KEYS, keys.count, &keys) == 1)
        return keys
    }

    @Test func buffersAreReleased_whenTheConnectionIsIdle() throws {
        let pair = try TLSPair(try TLSContext(files.files))
        defer { withExtendedLifetime(pair) {} }
        let (transport, client) = (pair.transport, pair.client)
        func read() -> ReadResult { transport.read(into: pair.buffer, bytesMax: .max) }
        let request = [UInt8](repeating: 120, count: 16_000)
        SSL_write(client, request, CInt(request.count))
        _ = read()
        _ = request.withUnsafeBytes { transport.write($0, hasMore: false) }
        #expect(transport.bufferByteCount > 16_000)
        transport.releaseBuffers()
        #expect(transport.bufferByteCount < 1_000)
        // Further data uses the new buffers.
        SSL_write(client, request, CInt(request.count))
        guard case .bytes(request.count) = read() else {
            return #expect(Bool(false), "the transport cannot read any more")
        }
    }

    /// The alert that all was sent waits behind the data, if the socket is full.
    @Test func endArrives_whenTheSocketWasFull() throws {
        let pair = try TLSPair(try TLSContext(files.files))
        defer { withExtendedLifetime(pair) {} }
        let (transport, client) = (pair.transport, pair.client)
        var buffer = [UInt8](repeating: 120, count: 64 * 1024)
        var sent = 0
        while !transport.status.hasUnsentBytes {
            sent += try #require(buffer.withUnsafeBytes { transport.write($0, hasMore: false) })
        }
        transport.finishWriting()
        var (received, error) = (0, SSL_ERROR_NONE)
        while error == SSL_ERROR_NONE || error == SSL_ERROR_WANT_READ {
            let count = SSL_read(client, &buffer, CInt(buffer.count))
            error = SSL_get_error(client, count)
            received += Int(max(count, 0))
            // The socket has room again.
            if count <= 0 { _ = transport.write(UnsafeRawBufferPointer(start: nil, count: 0), hasMore: false) }
        }
        #expect(received == sent)
        #expect(error == SSL_ERROR_ZERO_RETURN)
    }

    @Test func wholeBodyArrives_whenItHasManyRecords() async throws {
        let server = try makeServer { $0.pipelinedBytesMax = 1_000 }
        let output = try await blocking {
            let body = String(repeating: "x", count: 900_000)
            return try openssl(
                "s_client", "-ign_eof", "-connect", "127.0.0.1:\(server.port)",
                input: "POST /length HTTP/1.1\r\nHost: t\r\nContent-Length: 900000\r\n\r\n\(body)"
                    + "GET /hello HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
        }
        #expect(output.contains("900000"))
        #expect(output.contains("hello"))
    }

    @Test func connectionCloses_whenTheHandshakeStallsOrIsMissing() async throws {
        let server = try makeServer { $0.timeouts.handshake = .milliseconds(10) }
        try await blocking {
            let stalled = try server.client()
            #expect(try stalled.rest() == "")
            let plain = try server.client()
            try plain.send("GET /hello HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect((try? plain.rest())?.contains("HTTP") != true)
        }
    }

    @Test func newCertificateIsUsed_whenItIsReloaded() async throws {
        let server = try makeServer()
        let show: @Sendable () throws -> String = {
            try openssl("s_client", "-connect", "127.0.0.1:\(server.port)", input: "")
        }
        #expect(try await blocking(show).contains("CN = first"))
        try files.write(name: "second")
        try server.server.reloadTLS()
        #expect(try await blocking(show).contains("CN = second"))
        try Data("nonsense".utf8).write(to: URL(filePath: files.files.certificateChain))
        #expect(throws: TLSError.self) { try server.server.reloadTLS() }
        #expect(try await blocking(show).contains("CN = second"))
    }

    @Test func startFailsWithAClearError_whenTheKeyDoesNotMatch() throws {
        let other = TemporaryCertificate()
        let mixed = TLSFiles(
            certificateChain: files.files.certificateChain, privateKey: other.files.privateKey)
        let error = #expect(throws: TLSError.self) { _ = try TestServer { $0.tls = mixed } }
        #expect(error?.description.contains(other.files.privateKey) == true)
        #expect(error?.description.contains("key values mismatch") == true)
        let encrypted = files.folder.appending(path: "encrypted.pem").path
        _ = try openssl(
            "ec", "-in", files.files.privateKey, "-aes256", "-passout", "pass:word", "-out", encrypted, input: "")
        let refusal = #expect(throws: TLSError.self) {
            _ = try TestServer {
                $0.tls = TLSFiles(certificateChain: files.files.certificateChain, privateKey: encrypted)
            }
        }
        #expect(refusal?.description.contains("pass phrase") == true)
        let missing = TLSFiles(certificateChain: "/nowhere.pem", privateKey: other.files.privateKey)
        let absence = #expect(throws: TLSError.self) { _ = try TestServer { $0.tls = missing } }
        #expect(absence?.description.contains("/nowhere.pem") == true)
    }
}

/// A self-signed certificate in a temporary folder.
final class TemporaryCertificate: Sendable {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
    let files: TLSFiles

    init() {
        files = TLSFiles(
            certificateChain: folder.appending(path: "cert.pem").path,
            privateKey: folder.appending(path: "key.pem").path)
        try! FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try! write(name: "first")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func write(name: String) throws {
        _ = try openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj",
            "/CN=\(name)", "-keyout", files.privateKey, "-out", files.certificateChain, input: "")
    }
}

/// Runs OpenSSL's program and returns its output.
@discardableResult
func openssl(_ arguments: String..., input: String) throws -> String {
    try openssl(arguments, input: input)
}

/// Uses popen(3): `Foundation.Process` sometimes crashes while other threads open descriptors.
func openssl(_ arguments: [String], input: String) throws -> String {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try Data(input.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    guard let pipe = popen("openssl \(arguments.joined(separator: " ")) < \(file.path) 2>&1", "r") else {
        throw CancellationError()
    }
    defer { pclose(pipe) }
    return String(decoding: readToEnd(fileno(pipe)), as: UTF8.self)
}

private func readToEnd(_ descriptor: CInt) -> [UInt8] {
    var output: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
        let count = read(descriptor, &piece, piece.count)
        if count == 0 || (count < 0 && errno != EINTR) { return output }
        output.append(contentsOf: piece.prefix(max(0, count)))
    }
}

/// A server's transport and a client over a socket pair, after their handshake.
private final class TLSPair {
    let transport: TLSTransport
    let client: OpaquePointer
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private let clientContext: OpaquePointer
    private let clientEnd: CInt

    init(_ context: TLSContext) throws {
        var ends: [CInt] = [0, 0]
        let flags = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        try #require(socketpair(AF_UNIX, flags, 0, &ends) == 0)
        clientEnd = ends[1]
        transport = try #require(TLSTransport(descriptor: ends[0], context: context))
        clientContext = try #require(SSL_CTX_new(TLS_client_method()))
        client = try #require(SSL_new(clientContext))
        SSL_set_fd(client, clientEnd)
        while SSL_connect(client) != 1 || transport.status.isHandshaking {
            _ = transport.read(into: buffer, bytesMax: .max)
        }
    }

    deinit {
        SSL_free(client)
        SSL_CTX_free(clientContext)
        close(clientEnd)
        buffer.deallocate()
    }
}

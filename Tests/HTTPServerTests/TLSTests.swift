import Foundation
import Glibc
import HTTPServer
import HTTPTypes
import Testing

/// The client is OpenSSL's own program: what it says about a connection is not ours.
@Suite("TLS", .timeLimit(.minutes(1)))
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
        #expect(output.count { $0 == "r" } > 39 * 100_000)
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

    @Test func wholeBodyArrives_whenItTakesManyRecords() async throws {
        let server = try makeServer { $0.unreadBytesMax = 1_000 }
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

    @Test func connectionCloses_whenTheHandshakeStallsOrIsNone() async throws {
        let server = try makeServer { $0.deadlines.handshake = .milliseconds(50) }
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

    @Test func startFailsClearly_whenTheKeyIsNotTheCertificates() throws {
        let other = TemporaryCertificate()
        let mixed = TLSFiles(
            certificateChain: files.files.certificateChain, privateKey: other.files.privateKey)
        let error = #expect(throws: TLSError.self) { _ = try TestServer { $0.tls = mixed } }
        #expect(error?.description.contains(other.files.privateKey) == true)
        #expect(error?.description.contains("key values mismatch") == true)
        let missing = TLSFiles(certificateChain: "/nowhere.pem", privateKey: other.files.privateKey)
        let absence = #expect(throws: TLSError.self) { _ = try TestServer { $0.tls = missing } }
        #expect(absence?.description.contains("/nowhere.pem") == true)
    }
}

/// A self-signed certificate in a folder of its own.
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

/// Runs OpenSSL's program and returns what it printed.
@discardableResult
func openssl(_ arguments: String..., input: String) throws -> String {
    try openssl(arguments, input: input)
}

/// Through popen(3): `Foundation.Process` crashes now and then while other threads open descriptors.
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

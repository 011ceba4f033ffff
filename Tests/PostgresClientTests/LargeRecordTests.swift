import COpenSSL
import EmbeddedPostgres
import Foundation
import Glibc
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Whole responses arrive, whatever the size of the TLS records", .timeLimit(.minutes(10)))
struct LargeRecordTests {
    /// PostgreSQL writes records of 8 KB at most, proxies and compatible engines larger ones.
    @Test func responsesArrive_whenRecordsHave16KB() async throws {
        try await ThrowawayCluster.withDatabase { server in
            let relay = try TLSRelay(to: server.connectionString)
            let others = server.connectionString.split(separator: " ").filter {
                !$0.hasPrefix("host=") && !$0.hasPrefix("port=") && !$0.hasPrefix("sslmode=")
            }
            let relayed = "\(others.joined(separator: " ")) host=127.0.0.1 port=\(relay.port) sslmode=require"
            try await withClient(try PostgresConfiguration(relayed)) { client in
                // A part of the last record stays in OpenSSL for some of these.
                for count in 1...60 {
                    let rows = try await client.execute(
                        "SELECT repeat('x', 3000) FROM generate_series(1, \(Int32(count)))", timeout: .seconds(5))
                    #expect(rows.count == count)
                }
            }
        }
    }
}

/// Speaks TLS with PostgreSQL's clients and plain text with the server, and fills its records as far as it can.
private final class TLSRelay: Sendable {
    private static let recordBytes = 16_384
    private let listener: LoopbackListener

    var port: UInt16 { listener.port }

    init(to connectionString: String) throws {
        let parts = Dictionary(
            connectionString.split(separator: " ").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
                .filter { $0.count == 2 }.map { ($0[0], $0[1].filter { $0 != "'" }) }, uniquingKeysWith: { $1 })
        let path = "\(try #require(parts["host"]))/.s.PGSQL.\(parts["port"] ?? "5432")"
        let context = try #require(SSL_CTX_new(TLS_server_method()))
        try Self.addCertificate(to: context)
        nonisolated(unsafe) let shared = context
        listener = try LoopbackListener { Self.relay($0, shared, path) }
    }

    private static func addCertificate(to context: OpaquePointer) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "relay-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
            "-keyout", folder + "/key", "-out", folder + "/certificate",
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(SSL_CTX_use_certificate_chain_file(context, folder + "/certificate") == 1)
        try #require(SSL_CTX_use_PrivateKey_file(context, folder + "/key", SSL_FILETYPE_PEM) == 1)
    }

    /// One connection, until either side ends it.
    private static func relay(_ client: CInt, _ context: OpaquePointer, _ path: String) {
        var buffer = [UInt8](repeating: 0, count: recordBytes)
        let server = connect(path)
        let ssl = SSL_new(context)
        defer {
            SSL_free(ssl)
            close(client)
            close(server)
        }
        // The client asks for TLS with 8 bytes.
        guard server >= 0, recv(client, &buffer, 8, CInt(MSG_WAITALL)) == 8 else { return }
        guard send(client, "S", 1, 0) == 1 else { return }
        SSL_set_fd(ssl, client)
        guard SSL_accept(ssl) == 1 else { return }
        while true {
            var watched = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            if SSL_pending(ssl) == 0, poll(&watched, 2, 60_000) <= 0 { return }
            if SSL_pending(ssl) > 0 || watched[0].revents != 0 {
                let count = SSL_read(ssl, &buffer, CInt(buffer.count))
                guard count > 0, send(server, buffer, Int(count), CInt(MSG_NOSIGNAL)) == Int(count) else { return }
            }
            if watched[1].revents != 0 {
                let count = fill(&buffer, from: server)
                guard count > 0, SSL_write(ssl, buffer, CInt(count)) == CInt(count) else { return }
            }
        }
    }

    /// Reads until the buffer is full or nothing more comes for some time.
    private static func fill(_ buffer: inout [UInt8], from server: CInt) -> Int {
        var count = 0
        var watched = [pollfd(fd: server, events: Int16(POLLIN), revents: 0)]
        while count < buffer.count, poll(&watched, 1, 20) > 0 {
            let read = buffer.withUnsafeMutableBytes { recv(server, $0.baseAddress! + count, $0.count - count, 0) }
            guard read > 0 else { break }
            count += read
        }
        return count
    }

    private static func connect(_ path: String) -> CInt {
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let isConnected = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        return isConnected ? descriptor : -1
    }
}

@Suite("An attempt to connect ends, whatever the server does", .timeLimit(.minutes(1)))
struct SilentServerTests {
    /// As a pooler that accepts the login and queues the first query.
    @Test func attemptFails_whenTheServerNeverAnswersTheFirstQuery() async throws {
        let server = try LoopbackListener { client in
            var buffer = [UInt8](repeating: 0, count: 4_096)
            _ = recv(client, &buffer, buffer.count, 0)
            // AuthenticationOk, then ReadyForQuery:
            // https://www.postgresql.org/docs/15/protocol-message-formats.html
            let greeting: [UInt8] = [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5A, 0, 0, 0, 5, 0x49]
            _ = send(client, greeting, greeting.count, CInt(MSG_NOSIGNAL))
            // Until the client gives up.
            while recv(client, &buffer, buffer.count, 0) > 0 {}
            close(client)
        }
        let configuration = try PostgresConfiguration(
            "host=127.0.0.1 port=\(server.port) user=u dbname=d sslmode=disable gssencmode=disable connect_timeout=2")
        let error = try await postgresError {
            try await PostgresSession.withSession(configuration) { _ in }
        }
        #expect(error.kind == .unavailable, "\(error)")
    }
}

import Foundation
import Glibc
import PostgresClient
import Testing

@Suite("An attempt to connect ends, whatever the server does", .timeLimit(.minutes(1)))
struct SilentServerTests {
    /// As a pooler that accepts the login and queues the first query.
    @Test func attemptFails_whenTheServerNeverAnswersTheFirstQuery() async throws {
        let server = try SilentServer()
        let configuration = try PostgresConfiguration(
            "host=127.0.0.1 port=\(server.port) user=u dbname=d sslmode=disable gssencmode=disable connect_timeout=2")
        let error = try await postgresError {
            try await PostgresSession.withSession(configuration) { _ in }
        }
        #expect(error.kind == .unavailable, "\(error)")
    }
}

/// Accepts one login, and then says nothing.
private final class SilentServer: Sendable {
    let port: UInt16
    private let descriptor: CInt

    init() throws {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 8) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        try #require(isListening)
        (descriptor, port) = (listener, UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while case let client = accept(listener, nil, nil), client >= 0 {
                _ = recv(client, &buffer, buffer.count, 0)
                // AuthenticationOk, then ReadyForQuery:
                // https://www.postgresql.org/docs/15/protocol-message-formats.html
                let greeting: [UInt8] = [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5A, 0, 0, 0, 5, 0x49]
                _ = send(client, greeting, greeting.count, CInt(MSG_NOSIGNAL))
            }
        }
    }

    deinit { close(descriptor) }
}

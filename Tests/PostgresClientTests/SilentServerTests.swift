import Glibc
import PostgresClient
import Testing

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

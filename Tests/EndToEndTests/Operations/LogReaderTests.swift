import EmbeddedPostgres
import Foundation
import RegistryTestSupport
import Testing

@Suite("The reader of the log has no effect on clients", .serialized)
struct LogReaderTests {
    private static let requestsAtOnce = 100
    private static let longID = String(repeating: "i", count: 128)

    @Test(arguments: [false, true]) func requestsAreServed_whenTheLogsReaderIsStuckOrDead(isDead: Bool) async throws {
        try await withRegistry { registry in
            let socket = try TestListener()
            let log = Pipe()
            let command = try RegistryCommand(
                ["serve"],
                environment: [
                    "PUSH_REGISTRY_DATABASE_URL": registry.cluster.connectionString,
                    "PUSH_REGISTRY_ADMIN_KEY": RunningService.adminKey, "PUSH_REGISTRY_LOG_LEVEL": "info",
                ], socket: socket, log: log.fileHandleForWriting)
            defer { command.send(SIGKILL) }
            try log.fileHandleForWriting.close()
            if isDead { try log.fileHandleForReading.close() }
            let client = HTTPClient(port: socket.port)
            try await eventually("the service is ready", within: .seconds(60)) {
                (try? await client.response(to: .make("GET", "/readyz", key: nil)))?.status == 200
            }
            let connection = try TestConnection(port: socket.port)
            // Of requests without a credential only so many a second get a line, however fast the machine is.
            try await eventually("lines are dropped and counted") {
                try await sendRequests(connection)
                return try await droppedLines(client) > 0
            }
            command.send(SIGTERM)
            #expect(try await command.exitStatus() == 0)
        }
    }

    private func sendRequests(_ connection: TestConnection) async throws {
        let request = HTTPRequest.make("GET", "/healthz", key: nil, fields: [("X-Request-Id", Self.longID)])
        for _ in 0..<Self.requestsAtOnce { try await connection.send(request.bytes) }
        for _ in 0..<Self.requestsAtOnce { #expect(try await connection.response().status == 200) }
    }

    private func droppedLines(_ client: HTTPClient) async throws -> Int {
        let metrics = try await client.response(to: .make("GET", "/metrics", key: nil))
        #expect(metrics.status == 200)
        return metrics.text.firstMatch(of: /push_registry_log_lines_dropped_total (\d+)/).flatMap { Int($0.1) } ?? 0
    }
}

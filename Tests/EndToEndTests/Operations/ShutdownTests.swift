import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("SIGTERM drops no request", .serialized)
struct ShutdownTests {
    @Test func requestsInFlight_areAnswered_whenServiceIsTerminated() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            for number in 0..<16 { _ = try await app.put("phone-\(number)", as: "alice") }
            let statuses = try await registry.database.withTransaction { transaction in
                _ = try await transaction.execute("SELECT 1 FROM installation FOR UPDATE")
                async let responses = race(16) { try await app.put("phone-\($0)", as: "bob") }
                try await eventually("writes wait for the rows") { try await waitingSessions(registry) > 0 }
                let idle = try TestConnection(port: registry.client.port)
                _ = try await idle.response(to: .make("GET", "/healthz", key: nil))
                registry.service.command.send(SIGTERM)
                // The drain has begun when idle connections are closed.
                #expect(await idle.isClosedByServer())
                try await transaction.commit()
                return try await responses.map { ($0.status, $0["Connection"]) }
            }
            #expect(statuses.count == 16)
            #expect(statuses.allSatisfy { $0.0 == 200 && $0.1 == "close" }, "\(statuses)")
            #expect(try await registry.service.command.exitStatus() == 0)
        }
    }

    @Test func otherSignals_endNothing() async throws {
        try await withRegistry { registry in
            for number in [SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE] { registry.service.command.send(number) }
            let connection = try TestConnection(port: registry.client.port)
            #expect(try await connection.response(to: .make("GET", "/healthz", key: nil)).status == 200)
            registry.service.command.send(SIGTERM)
            #expect(try await registry.service.command.exitStatus() == 0)
        }
    }

    private func waitingSessions(_ registry: Registry) async throws -> Int {
        try await registry.database.count(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND application_name = 'push-registry'
            """)
    }

    /// Each client sends requests one after another until a response closes the connection.
    @Test func everyRequest_isAnswered_whenServiceIsTerminatedUnderLoad() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            let answered = Counter()
            let endings = try await withThrowingTaskGroup(of: String.self) { group in
                for client in 0..<32 {
                    group.addTask {
                        try await Self.registerUntilClosed(app, client) { answered.increment() }
                    }
                }
                try await eventually("requests flow") { answered.count > 500 }
                registry.service.command.send(SIGTERM)
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(endings.allSatisfy { $0 == "closed after a response" }, "\(endings)")
            #expect(try await registry.service.command.exitStatus() == 0)
        }
    }

    private static func registerUntilClosed(
        _ app: RegistryApp, _ client: Int, _ note: () -> Void
    ) async throws -> String {
        let connection = try TestConnection(port: app.registry.client.port)
        for number in 0... {
            do {
                let response = try await connection.response(to: app.registration("phone-\(client)", as: "u\(number)"))
                guard response.status < 300 else { return "\(response.status)" }
                note()
                if response["Connection"] == "close" { return "closed after a response" }
            } catch {
                return "\(error)"
            }
        }
        return "never"
    }

    @Test func idleConnections_areClosed_whenServiceIsTerminated() async throws {
        try await withRegistry { registry in
            let connection = try TestConnection(port: registry.client.port)
            #expect(try await connection.response(to: .make("GET", "/healthz", key: nil)).status == 200)
            async let isClosed = connection.isClosedByServer()
            #expect(try await registry.service.stop() == 0)
            #expect(await isClosed)
        }
    }
}

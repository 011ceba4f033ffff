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
                try await eventually("writes wait for the rows") { try await registry.waitingSessions() > 0 }
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
}

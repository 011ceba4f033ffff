import EmbeddedPostgres
import Foundation
import Logging
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("A restart drops no connection and no request", .serialized)
struct RestartTests {
    /// The socket stays open between two processes, as with systemd (`LISTEN_FDS`); clients wait in its queue.
    @Test func everyRequest_isAnswered_whenServiceIsRestartedOnAPassedSocket() async throws {
        let socket = try TestListener()
        let quiet = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        try await ThrowawayCluster.withDatabase(logger: quiet) { cluster in
            var service = try await RunningService.start(databaseURL: cluster.connectionString, socket: socket)
            defer { service.command.send(SIGKILL) }
            #expect(service.client.port == socket.port)
            let ledger = try await TestDatabase.with(cluster.connectionString) { database in
                let registry = Registry(cluster: cluster, service: service, database: database)
                let app = try await RegistryApp.make(in: registry)
                let ledger = try await Load.run(on: app) { ledger in
                    for _ in 1...3 {
                        let count = ledger.acknowledged.count
                        try await eventually("requests flow") { ledger.acknowledged.count > count + 200 }
                        #expect(try await service.stop() == 0)
                        service = try await RunningService.start(
                            databaseURL: cluster.connectionString, socket: socket)
                    }
                    _ = try await ledger.timeToHeal()
                }
                try await app.expectKept(ledger)
                return ledger
            }
            #expect(ledger.refusals.isEmpty, "\(ledger.refusals.prefix(3).map(\.text))")
        }
    }

    /// During the drain delay, all requests are served.
    @Test func readinessFails_beforeAnythingElse_whenServiceIsTerminatedWithADelay() async throws {
        try await withRegistry(environment: ["PUSH_REGISTRY_DRAIN_DELAY": "60s"]) { registry in
            let app = try await RegistryApp.make(in: registry)
            registry.service.command.send(SIGTERM)
            try await eventually("readiness fails") {
                try await registry.send("GET", "/readyz").status == 503
            }
            registry.client.closeIdle()
            let response = try await app.put("phone", as: "alice")
            #expect(response.status == 201 && response["Connection"] == nil)
            #expect(try await registry.send("GET", "/healthz").status == 200)
            // A second signal ends the delay.
            registry.service.command.send(SIGTERM)
            #expect(try await registry.service.command.exitStatus() == 0)
        }
    }

    @Test func requestsOfTheDelay_areAnswered_whenItEndsUnderLoad() async throws {
        try await withRegistry(environment: ["PUSH_REGISTRY_DRAIN_DELAY": "500ms"]) { registry in
            let app = try await RegistryApp.make(in: registry)
            let answered = Counter()
            let ends = try await race(8) { client in
                let connection = try TestConnection(port: registry.client.port)
                return try await connection.end(of: { app.registration("phone-\(client)", as: "u\($0)") }) {
                    answered.increment()
                    if answered.count == 200 { registry.service.command.send(SIGTERM) }
                }
            }
            for end in ends { #expect(end == .lastResponse || end == .closedWhileIdle) }
            #expect(ends.contains(.lastResponse))
            #expect(try await registry.service.command.exitStatus() == 0)
        }
    }
}

/// How a connection ended whose client sends one request after the other.
private enum ConnectionEnd: Equatable {
    /// With `Connection: close`.
    case lastResponse
    /// The client's next request came later than a server that drains waits for one: RFC 9112, section 9.5.
    case closedWhileIdle
    case closed
    case refused(Int)
}

extension TestConnection {
    /// Sends requests on the connection's own thread, where a busy pool of threads does not delay the next one, until
    /// the server ends the connection.
    fileprivate func end(
        of request: @Sendable (Int) -> HTTPRequest, onResponse: @Sendable () -> Void
    ) throws -> ConnectionEnd {
        let clock = ContinuousClock()
        var idle = clock.now
        for number in 0... {
            let next = request(number)
            let pause = clock.now - idle
            do {
                let response = try response(to: next)
                idle = clock.now
                guard response.status < 300 else { return .refused(response.status) }
                onResponse()
                if response["Connection"] == "close" { return .lastResponse }
            } catch HTTPClientError.closed {
                return pause > .milliseconds(100) ? .closedWhileIdle : .closed
            }
        }
        return .closed
    }
}

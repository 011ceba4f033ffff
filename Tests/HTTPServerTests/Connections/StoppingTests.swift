import EventLoop
import Foundation
import HTTPServer
import HTTPTypes
import Testing

@Suite("Stopping drops no request", .timeLimit(.minutes(5)))
struct StoppingTests {
    @Test func requestInFlightGetsItsResponse_whenTheServerStops() async throws {
        let server = try TestServer { $0.timeouts.idleDrain = .milliseconds(1) }
        try await blocking {
            let (client, idle) = (try server.client(), try server.client())
            try client.send("GET /gate HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.wait(for: "at the gate"))
            server.cancel()
            #expect(try idle.rest() == "", "the loop knows of the stop")
            server.events.gate.open()
            let response = try client.response()
            #expect(response.body == "through")
            #expect(response.fields["connection"] == "close")
            #expect(throws: TestClient.Failure.ended) { try client.response() }
        }
        await server.waitForEnd()
    }

    @Test func idleConnectionCloses_whenTheServerStops() async throws {
        let server = try TestServer { $0.timeouts.idleDrain = .milliseconds(1) }
        try await blocking {
            let (client, fresh) = (try server.client(), try server.client())
            _ = try client.get("/hello")
            server.cancel()
            #expect(try client.rest() == "")
            #expect(try fresh.rest() == "")
        }
        await server.waitForEnd()
        #expect(throws: TestClient.Failure.reset) { try server.client() }
    }

    @Test func lateRequestIsServed_whenItsConnectionWasIdleAtTheStop() async throws {
        let server = try TestServer { $0.timeouts.idleDrain = .seconds(5) }
        try await server.serve { server, client in
            _ = try client.get("/hello")
            server.cancel()
            #expect(try client.get("/hello").body == "hello")
        }
        await server.waitForEnd()
    }

    @Test func connectionsAreCut_whenTheDrainTakesTooLong() async throws {
        let server = try TestServer { $0.timeouts.drain = .milliseconds(1) }
        try await server.serve { server, client in
            try client.send("GET /wait HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.wait(for: "waiting"))
            server.cancel()
            #expect(throws: TestClient.Failure.reset) { try client.response() }
            #expect(server.events.wait(for: "cancelled"))
        }
        await server.waitForEnd()
    }

    @Test func everythingEndsAtOnce_whenTheServerAborts() async throws {
        let server = try TestServer()
        try await server.serve { server, client in
            try client.send("GET /wait HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.wait(for: "waiting"))
            server.cancel()
            server.server.abort()
            #expect(throws: TestClient.Failure.reset) { try client.response() }
        }
        await server.waitForEnd()
    }

    /// Clients that reconnect when a response tells them to; the server stops meanwhile.
    @Test func noRequestIsDropped_whenTheServerStopsUnderLoad() async throws {
        let server = try TestServer(loopCount: 2)
        let failures = try await withThrowingTaskGroup(of: [String].self) { group in
            for number in 0..<16 {
                group.addTask {
                    try await blocking { Self.load(server, isPersistent: number % 2 == 0) }
                }
            }
            #expect(try await blocking { server.events.waitForRequests(500) })
            server.cancel()
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(failures == [])
        await server.waitForEnd()
    }

    /// Sends requests until no server listens.
    ///
    /// - Returns: the errors of requests on connections that the server had accepted.
    private static func load(_ server: TestServer, isPersistent: Bool) -> [String] {
        var failures: [String] = []
        while let client = try? server.client() {
            do {
                while try client.get("/hello").fields["connection"] == nil, isPersistent {}
            } catch {
                failures.append("\(error)")
            }
        }
        return failures
    }
}

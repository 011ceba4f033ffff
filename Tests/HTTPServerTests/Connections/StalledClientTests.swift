import Foundation
import HTTPServer
import Testing

@testable import HTTPApplication

@Suite("A stalled client loses its connection and does not delay others", .timeLimit(.minutes(5)))
struct StalledClientTests {
    // The deadlines and responses of each wait are tested in DeadlineTests, with a manual clock.

    @Test func connectionEnds_whenADeadlinePasses() async throws {
        let server = try TestServer {
            $0.timeouts.head = .milliseconds(10)
            $0.timeouts.linger = .milliseconds(10)
        }
        try await blocking {
            let stalled = try server.client()
            try stalled.send("GET /he")
            #expect(try stalled.response().status == 408)
            #expect(try stalled.rest() == "")
        }
    }

    @Test(arguments: ["/big", "/rows"]) func connectionEnds_whenItsClientDoesNotRead(_ path: String) async throws {
        let server = try TestServer { $0.timeouts.write = .milliseconds(10) }
        try await blocking {
            let stalled = try server.client(receiveBufferBytes: 4_096)
            try stalled.send("GET \(path) HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.waitForRequests(1))
            #expect(try server.client().get("/hello").status == 200)
            #expect(stalled.waitForReset())
            #expect(throws: TestClient.Failure.reset) { try stalled.rest() }
            #expect(server.events.requests.first?.isComplete == false)
        }
    }

    @Test func wholeResponseArrives_whenItsClientReadsSlowly() async throws {
        let server = try TestServer()
        try await blocking {
            let client = try server.client(receiveBufferBytes: 16_384)
            try client.send("GET /rows HTTP/1.1\r\nHost: t\r\n\r\nGET /hello HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.wait(for: "rows"))
            #expect(try client.response().body.count == 4_000_000)
            #expect(try client.response().body == "hello")
        }
    }
}

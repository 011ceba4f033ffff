import HTTPServer
import HTTPTypes
import Testing

@testable import HTTPApplication

@Suite("One side leaves", .timeLimit(.minutes(5)))
struct LeavingClientTests {
    @Test func handlerIsCancelled_whenItsClientResets() async throws {
        let server = try TestServer { $0.timeouts.halfClosed = .seconds(60) }
        try await server.serve { server, client in
            try client.send("GET /wait HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.wait(for: "waiting"))
            client.reset()
            #expect(server.events.wait(for: "cancelled"))
            #expect(server.events.waitForRequests(1))
        }
        #expect(server.events.requests.map(\.isComplete) == [false])
    }

    @Test func producerEnds_whenItsClientLeaves() async throws {
        let server = try TestServer()
        try await blocking {
            let client = try server.client(receiveBufferBytes: 4_096)
            try client.send("GET /rows HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.wait(for: "rows"))
            client.close()
            #expect(server.events.waitForRequests(1))
        }
        #expect(server.events.requests.map(\.isComplete) == [false])
    }

    @Test func allResponsesArrive_whenTheClientHalfCloses() async throws {
        try await TestServer({ $0.timeouts.halfClosed = .seconds(60) }).serve { server, client in
            try client.send("GET /gate HTTP/1.1\r\nHost: t\r\n\r\nGET /hello HTTP/1.1\r\nHost: t\r\n\r\n")
            client.finishSending()
            // A later response of the same loop: it has seen the end of the input.
            #expect(try server.client().get("/hello").status == 200)
            #expect(server.events.wait(for: "at the gate"))
            server.events.gate.open()
            #expect(try client.response().body == "through")
            #expect(try client.response().body == "hello")
            #expect(try client.rest() == "")
        }
    }

    @Test func truncatedRequestIsRefused_whenTheClientHalfCloses() async throws {
        try await TestServer().serve { _, client in
            try client.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nbod")
            client.finishSending()
            #expect(try client.response().status == 400)
            #expect(try client.rest() == "")
        }
    }

    @Test func refusalArrives_whenAHugeBodyIsBeingSent() async throws {
        try await TestServer({ $0.timeouts.linger = .seconds(20) }).serve { _, client in
            try client.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 3000000\r\n\r\n")
            try client.send(String(repeating: "x", count: 3_000_000))
            #expect(try client.response().status == 413)
            #expect(try client.rest() == "")
        }
    }

    @Test func streamIsIncomplete_whenItsProducerFails() async throws {
        let server = try TestServer(routes: { _, _ in
            [
                Route(.get, "/broken") { _ in
                    ServerResponse(
                        .ok,
                        body: .stream { writer in
                            try await writer.write(Array("row".utf8))
                            try await writer.flush()
                            throw CancellationError()
                        })
                }
            ]
        })
        try await blocking {
            let client = try server.client()
            #expect(throws: TestClient.Failure.reset) { try client.get("/broken") }
        }
    }
}

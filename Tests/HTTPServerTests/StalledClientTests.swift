import Foundation
import HTTPServer
import Testing

@Suite("A client that stalls loses its connection and holds up nobody", .timeLimit(.minutes(1)))
struct StalledClientTests {
    /// What a stalled client sends, and the status it is closed with, if any.
    struct Stall: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var sends: String
        var status: Int?
    }

    static let stalls = [
        Stall(testDescription: "nothing", sends: ""),
        Stall(testDescription: "half a request line", sends: "GET /he", status: 408),
        Stall(testDescription: "half a header", sends: "GET /hello HTTP/1.1\r\nHost: t\r\nX-", status: 408),
        Stall(
            testDescription: "half a body", sends: "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nbod",
            status: 408),
        Stall(
            testDescription: "half a chunk",
            sends: "POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbod", status: 408),
        Stall(
            testDescription: "a request for ever in its handler", sends: "GET /wait HTTP/1.1\r\nHost: t\r\n\r\n",
            status: 503),
    ]

    private static func makeServer() throws -> TestServer {
        try TestServer {
            $0.deadlines.head = .milliseconds(200)
            $0.deadlines.body = .milliseconds(200)
            $0.deadlines.handler = .milliseconds(200)
            $0.deadlines.idle = .milliseconds(300)
            $0.deadlines.write = .milliseconds(300)
            $0.deadlines.linger = .milliseconds(200)
        }
    }

    @Test(arguments: stalls) func connectionEnds_whenItsClientSends(_ stall: Stall) async throws {
        let server = try Self.makeServer()
        try await blocking {
            let stalled = try server.client()
            try stalled.send(stall.sends)
            #expect(try server.client().get("/hello").status == 200)
            if let status = stall.status {
                let response = try stalled.response()
                #expect(response.status == status)
                #expect(response.fields["connection"] == "close")
            }
            #expect(try stalled.rest() == "")
        }
    }

    @Test func connectionEnds_whenItIsIdleBetweenRequests() async throws {
        let server = try Self.makeServer()
        try await blocking {
            let client = try server.client()
            #expect(try client.get("/hello").status == 200)
            #expect(try client.rest() == "")
        }
    }

    @Test func connectionEnds_whenAHeadTricklesIn() async throws {
        let server = try Self.makeServer()
        try await blocking {
            let client = try server.client()
            try client.send("GET /hello HTTP/1.1\r\nHost: t\r\n")
            let begin = ContinuousClock.now
            // The server's answer, or its refusal of what is sent after it, ends this.
            while begin.duration(to: .now) < .seconds(5), (try? client.send("X: y\r\n")) != nil { usleep(5_000) }
            #expect(begin.duration(to: .now) < .seconds(4))
        }
    }

    @Test(arguments: ["/big", "/rows"]) func connectionEnds_whenItsClientDoesNotRead(_ path: String) async throws {
        let server = try Self.makeServer()
        try await blocking {
            let stalled = try server.client(receiveBufferBytes: 4_096)
            try stalled.send("GET \(path) HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.waitForRequests(1))
            #expect(try server.client().get("/hello").status == 200)
            #expect(stalled.waitForReset())
            #expect(throws: TestClient.Failure.reset) { try stalled.rest() }
        }
    }

    @Test func wholeAnswerArrives_whenItsClientReadsSlowly() async throws {
        let server = try TestServer { $0.deadlines.write = .milliseconds(500) }
        try await blocking {
            let client = try server.client(receiveBufferBytes: 16_384)
            try client.send("GET /rows HTTP/1.1\r\nHost: t\r\n\r\nGET /hello HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.wait(for: "rows"))
            #expect(try client.response().body.count == 4_000_000)
            #expect(try client.response().body == "hello")
        }
    }

    @Test func producerWaits_whenItsClientDoesNotRead() async throws {
        let server = try TestServer()
        try await blocking {
            let client = try server.client(receiveBufferBytes: 4_096)
            try client.send("GET /rows HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.wait(for: "rows"))
            #expect(try server.client().get("/hello").status == 200)
            #expect(server.events.count("rows") < 100)
            #expect(try client.response().body.count == 4_000_000)
        }
    }

    @Test func clientMustWait_whenItPipelinesBehindASlowRequest() async throws {
        let server = try TestServer { $0.deadlines.idle = .seconds(5) }
        try await blocking {
            let client = try server.client()
            try client.send("GET /wait HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.wait(for: "waiting"))
            let request = "GET /hello HTTP/1.1\r\nHost: t\r\nX: \(String(repeating: "x", count: 1_000))\r\n\r\n"
            let isTaken = client.sendWithoutWaiting(String(repeating: request, count: 20_000))
            #expect(isTaken < 15_000_000)
        }
    }
}

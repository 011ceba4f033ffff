import Foundation
import HTTPServer
import HTTPTypes
import Testing

@testable import HTTPApplication

@Suite("Requests of one connection get their responses in order", .timeLimit(.minutes(5)))
struct ConversationTests {
    @Test func headHasNoBody_whenGetHasOne() async throws {
        try await TestServer().serve { _, client in
            for path in ["/hello", "/nothing"] {
                try client.send("HEAD \(path) HTTP/1.1\r\nHost: t\r\n\r\n")
                let response = try client.response(toHead: true)
                #expect(response.fields["content-length"] == (path == "/hello" ? "5" : "38"))
            }
            try client.send("HEAD /rows HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try client.response(toHead: true).fields["transfer-encoding"] == "chunked")
            #expect(try client.get("/hello").body == "hello")
        }
    }

    @Test func allMethodsAreListed_whenTheMethodIsUnsupported() async throws {
        try await TestServer().serve { _, client in
            #expect(try client.post("/hello", "").fields["allow"] == "GET, HEAD, OPTIONS")
            try client.send("OPTIONS /echo HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try client.response().fields["allow"] == "OPTIONS, POST")
            try client.send("OPTIONS * HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try client.response().fields["allow"] == "GET, HEAD, OPTIONS, POST")
        }
    }

    @Test func errorHasNoDetails_whenAHandlerFails() async throws {
        try await TestServer().serve { _, client in
            let response = try client.get("/fail")
            #expect(response.status == 500)
            #expect(!response.body.contains("password"))
            #expect(try client.get("/hello").status == 200)
        }
    }

    @Test func requestIDIsTheClients_whenItIsValid() async throws {
        try await TestServer().serve { _, client in
            #expect(try client.get("/hello", "X-Request-Id: abc-1\r\n").fields["x-request-id"] == "abc-1")
            let generated = try client.get("/hello", "X-Request-Id: a b\r\n").fields["x-request-id"]
            #expect(generated?.count == 32)
            #expect(try client.get("/nothing").fields["x-request-id"]?.count == 32)
            let date = try #require(try client.get("/hello").fields["date"])
            #expect(date.wholeMatch(of: /\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/) != nil)
        }
    }

    @Test func observerIsNotified_whenARequestIsFinished() async throws {
        let server = try TestServer()
        try await server.serve { _, client in
            _ = try client.get("/things/a/b")
            try client.send("nonsense\r\n\r\n")
            #expect(try client.response().status == 400)
        }
        let requests = server.events.requests
        #expect(requests.map(\.routePattern) == ["/things/{a}/{b}", nil])
        #expect(requests.map { $0.status?.code } == [200, 400])
        #expect(requests.map(\.responseBodyBytes).first == 3)
    }
}

import HTTPServer
import Testing

@Suite("Bytes after a broken request are never a request", .timeLimit(.minutes(5)))
struct SmugglingTests {
    static let second = "GET /hello HTTP/1.1\r\nHost: t\r\n\r\n"

    static let first = [
        "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nContent-Length: 40\r\n\r\nbody",
        "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: +4\r\n\r\nbody",
        "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length : 4\r\n\r\nbody",
        "POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n4\nbody\r\n0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: t\r\nX: y\r\n Content-Length: 4\r\n\r\nbody",
        "POST /echo HTTP/1.1\nHost: t\n\n",
        "POST /echo HTTP/1.1\r\n\r\n",
        "GET /hello HTTP/2.0\r\nHost: t\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 2000\r\n\r\n",
        "POST /nothing HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n",
    ]

    @Test(arguments: first) func thereIsOneResponse_whenTheFirstRequestIs(_ first: String) async throws {
        try await TestServer().serve { _, client in
            try client.send(first + Self.second)
            let response = try client.response()
            #expect(first.hasSuffix("close\r\n\r\n") ? response.status == 200 : response.status >= 400)
            #expect(try client.rest() == "")
        }
    }

    @Test func bodyIsNotARequest_whenItLooksLikeOne() async throws {
        let server = try TestServer()
        try await server.serve { _, client in
            for path in ["/echo", "/nothing", "/hello"] {
                let body = "DELETE /smuggled HTTP/1.1\r\nHost: t\r\n\r\n"
                _ = try client.post(path, body)
            }
            #expect(try client.get("/hello").body == "hello")
        }
        #expect(server.events.requests.count == 4)
    }
}

import EventLoop
import Foundation
import HTTPServer
import HTTPTypes
import Logging
import Testing

@testable import HTTPApplication

@Suite("An application handles requests", .timeLimit(.minutes(5)))
struct ApplicationTests {
    @Test func middlewareRunsInOrder_whenARouteIsWrapped() async throws {
        let server = try TestServer(routes: { _, events in
            func reporting(_ name: String) -> Middleware {
                { next in
                    { request in
                        events.add("\(name) before")
                        defer { events.add("\(name) after \(events.count("handler"))") }
                        return try await next(request)
                    }
                }
            }
            let route = Route(.get, "/") { request in
                #expect(events.count("inner before") == 1)
                events.add("handler")
                return .text(request.routePattern)
            }
            return [route.wrapped(in: reporting("inner")).wrapped(in: reporting("outer"))]
        })
        let response = try await blocking { try server.client().get("/") }
        #expect(response.body == "/")
        #expect(server.events.count("outer after 1") == 1)
    }

    @Test func constantResponseIsSent_whenARouteHasOne() async throws {
        let server = try TestServer(routes: { _, events in
            let constant = Route(.get, "/constant", constant: .text("same"))
            return [
                constant.wrapped { next in
                    { request in
                        events.add("middleware")
                        return try await next(request)
                    }
                },
                Route(.get, "/hello") { _ in .text("hello") },
            ]
        })
        try await blocking {
            let client = try server.client()
            let requests = ["GET /constant", "GET /hello"].map { "\($0) HTTP/1.1\r\nHost: t\r\n\r\n" }
            try client.send(String(repeating: requests.joined(), count: 500))
            for _ in 0..<500 {
                let response = try client.response()
                #expect((response.status, response.body) == (200, "same"))
                #expect(response.fields["x-request-id"]?.count == 32)
                #expect(try client.response().body == "hello")
            }
            try client.send("HEAD /constant HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(try client.response(toHead: true).fields["content-length"] == "4")
            #expect(try client.post("/constant", "body").status == 405)
            try client.send("GET /constant HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\nbody")
            #expect(try client.response().body == "same")
            #expect(try client.get("/constant").body == "same")
        }
        #expect(server.events.count("middleware") == 0)
    }

    @Test func applicationRendersEveryProblem() async throws {
        let loop = EventLoop(name: "test")
        let configuration = HTTPServerConfiguration(addresses: [ListenAddress(host: "127.0.0.1", port: 0)])
        let server = try HTTPServer(configuration, loops: [loop], logger: Logger(label: "test")) { _ in
            Application(
                router: Router([]),
                renderProblem: { problem, requestID in .text("\(problem.code) \(requestID)", status: problem.status) })
        }
        let running = Task { await server.run() }
        try await blocking {
            let client = try TestClient(server.port)
            #expect(try client.get("/", "X-Request-Id: one\r\n").body == "not-found one")
            try client.send("nonsense\r\n\r\n")
            let response = try client.response()
            #expect(response.body == "malformed-request-line \(response.fields["x-request-id"] ?? "")")
        }
        running.cancel()
        await running.value
        loop.stop()
    }

    @Test func bodyIsChanged_whenAMiddlewareWrapsTheWriter() async throws {
        let server = try TestServer(routes: { _, _ in
            let doubling: Middleware = { next in
                { request in
                    var response = try await next(request)
                    guard case .stream(let produce) = response.body else { return response }
                    response.body = .stream { writer in
                        try await produce(ResponseBodyWriter(write: { try await writer.write($0 + $0) }))
                        try await writer.write(Array("end".utf8))
                    }
                    return response
                }
            }
            let route = Route(.get, "/") { _ in
                ServerResponse(.ok, body: .stream { try await $0.write(Array("ab".utf8)) })
            }
            return [route.wrapped(in: doubling)]
        })
        let response = try await blocking { try server.client().get("/") }
        #expect(response.body == "ababend")
    }

    @Test func responseIsAnError_whenItsFieldsAreInvalid() async throws {
        let server = try TestServer(routes: { _, _ in
            [Route(.get, "/") { _ in ServerResponse(.ok, fields: [.contentLength: "7"]) }]
        })
        let response = try await blocking { try server.client().get("/") }
        #expect(response.status == 500)
    }
}

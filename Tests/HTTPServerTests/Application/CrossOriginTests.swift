import Foundation
import HTTPServer
import HTTPTypes
import Testing

@testable import HTTPApplication

@Suite("Only web pages of allowed origins can read responses", .timeLimit(.minutes(5)))
struct CrossOriginTests {
    private static let page = "Origin: https://page.example\r\n"
    private static let preflight = "Access-Control-Request-Method: PUT\r\n"

    private static func server() throws -> TestServer {
        try TestServer(routes: { _, events in
            var sharing = CrossOriginSharing { origin, request in
                origin == "https://page.example" && request.parameters["app"] == "shared"
            }
            sharing.requestFields = [.authorization, .ifMatch]
            sharing.responseFields = [.eTag]
            return sharing.share([
                Route(.get, "/{app}/thing") { _ in .text("thing") },
                Route(.put, "/{app}/thing", bodyBytesMax: 4) { request in
                    events.add("put")
                    return .text("\(try request.body.count)")
                },
                Route(.get, "/{app}/gone") { _ in
                    throw Problem(.gone, code: "gone", detail: "It is gone.", fields: [.retryAfter: "9"])
                },
            ])
        })
    }

    private func options(_ path: String, _ fields: String) async throws -> TestClient.Response {
        try await Self.server().serve { server, client in
            try client.send("OPTIONS \(path) HTTP/1.1\r\nHost: test\r\n\(fields)\r\n")
            let response = try client.response()
            #expect(server.events.count("put") == 0)
            return response
        }
    }

    private func get(_ path: String, _ fields: String) async throws -> TestClient.Response {
        try await Self.server().serve { _, client in try client.get(path, fields) }
    }

    @Test func preflight_listsWhatIsAllowed_whenTheOriginIsAllowed() async throws {
        let response = try await options("/shared/thing", Self.page + Self.preflight)
        #expect(response.status == 204)
        #expect(response.fields["allow"] == "GET, HEAD, OPTIONS, PUT")
        #expect(response.fields["access-control-allow-origin"] == "https://page.example")
        #expect(response.fields["access-control-allow-methods"] == "GET, HEAD, OPTIONS, PUT")
        #expect(response.fields["access-control-allow-headers"] == "Authorization, If-Match")
        #expect(response.fields["access-control-max-age"] == "600")
        #expect(response.fields["access-control-allow-credentials"] == nil)
        #expect(response.fields["vary"] == "Origin")
    }

    @Test(
        "Another origin, another app, no origin, no preflight",
        arguments: [
            ("/shared/thing", "Origin: https://page.example.evil\r\n" + preflight),
            ("/shared/thing", "Origin: null\r\n" + preflight), ("/other/thing", page + preflight),
            ("/shared/thing", preflight), ("/shared/thing", page),
        ])
    func optionsHasNoCORSFields_unlessAnAllowedPageAsks(path: String, fields: String) async throws {
        let response = try await options(path, fields)
        #expect((response.status, response.fields["allow"]) == (204, "GET, HEAD, OPTIONS, PUT"))
        #expect(response.fields["vary"] == "Origin")
        #expect(response.fields.keys.allSatisfy { !$0.hasPrefix("access-control") })
    }

    @Test func responseCanBeRead_whenTheOriginIsAllowed() async throws {
        let response = try await get("/shared/thing", Self.page)
        #expect((response.status, response.body) == (200, "thing"))
        #expect(response.fields["access-control-allow-origin"] == "https://page.example")
        #expect(response.fields["access-control-expose-headers"] == "ETag")
        #expect(response.fields["vary"] == "Origin")
    }

    @Test func problemCanBeRead_whenTheOriginIsAllowed() async throws {
        let response = try await get("/shared/gone", Self.page)
        #expect((response.status, response.fields["retry-after"]) == (410, "9"))
        #expect(response.fields["access-control-allow-origin"] == "https://page.example")
        #expect(response.fields["vary"] == "Origin")
    }

    @Test func refusalOfALargeBodyCanBeRead_whenTheOriginIsAllowed() async throws {
        try await Self.server().serve { _, client in
            try client.send("PUT /shared/thing HTTP/1.1\r\nHost: t\r\n\(Self.page)Content-Length: 5\r\n\r\n12345")
            let response = try client.response()
            #expect(response.status == 413)
            #expect(response.fields["access-control-allow-origin"] == "https://page.example")
        }
    }

    @Test(arguments: ["", "Origin: https://elsewhere.example\r\n"])
    func responseHasNoCORSFields_whenTheOriginIsNotAllowed(fields: String) async throws {
        let response = try await get("/shared/thing", fields)
        #expect((response.status, response.body) == (200, "thing"))
        #expect(response.fields["vary"] == "Origin")
        #expect(response.fields.keys.allSatisfy { !$0.hasPrefix("access-control") })
    }
}

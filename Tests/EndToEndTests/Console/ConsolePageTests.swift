import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("The console's page comes from the service, with headers that limit what it can do")
    struct ConsolePageTests {
        private static let headers = [
            "Content-Security-Policy":
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
                + "trusted-types 'none'",
            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
        ]

        private func expectHeaders(_ response: HTTPResponse, _ place: String) {
            for (name, value) in Self.headers { #expect(response[name] == value, "\(place): \(name)") }
        }

        @Test func everyResponse_hasTheHeaders() async throws {
            let app = try await RegistryApp.make()
            let visitor = try await ConsoleVisitor.make(.marketing, of: app)
            let stranger = ConsoleVisitor(registry: app.registry)
            let path = "/console/v1/apps/\(app.id)"
            let tag = try #require(try await stranger.send("GET", "/console/")["ETag"])
            let calls: [(status: Int, response: HTTPResponse)] = [
                (200, try await stranger.send("GET", "/console/")),
                (200, try await stranger.send("HEAD", "/console/")),
                (304, try await stranger.send("GET", "/console/", fields: [("If-None-Match", tag)])),
                (308, try await stranger.send("GET", "/console")),
                (204, try await stranger.send("OPTIONS", "/console/")),
                (404, try await stranger.send("GET", "/console/nothing")),
                (404, try await stranger.send("GET", "/console/v1/nothing")),
                (400, try await stranger.send("GET", "/console/%00/x")),
                (405, try await stranger.send("PUT", "/console/v1/session")),
                (403, try await stranger.send("GET", "/console/", host: "evil.example")),
                (403, try await stranger.send("POST", "/console/v1/session", fields: [])),
                (200, try await stranger.send("GET", "/console/v1/session")),
                (400, try await stranger.send("POST", "/console/v1/session", [:])),
                (401, try await stranger.send("GET", path + "/segments")),
                (403, try await visitor.send("GET", path + "/keys")),
                (404, try await visitor.send("GET", path + "/segments/nothing")),
                (400, try await visitor.send("POST", path + "/audience/count", [:])),
                (
                    413,
                    try await visitor.send("POST", "/console/v1/session", .string(String(repeating: "x", count: 5_000)))
                ),
                (200, try await visitor.send("POST", path + "/audience/count", ["filter": [:]])),
                (200, try await visitor.send("POST", path + "/audience/export", ["filter": [:]])),
            ]
            for (index, call) in calls.enumerated() {
                #expect(call.response.status == call.status, "\(index): \(call.response.text)")
                expectHeaders(call.response, "\(index)")
            }
            for response in [
                try await visitor.send("POST", path + "/audience/export", ["filter": [:]]),
                try await stranger.send("GET", "/console/v1/session"),
            ] {
                #expect(response["Cache-Control"] == "no-store")
            }
            // The rest of the service is as it was.
            let api = try await app.send("GET", "/segments", by: .role(.marketing))
            let nothing = try await stranger.send("GET", "/consoles")
            for response in [api, nothing] { #expect(response["Content-Security-Policy"] == nil) }
        }

        @Test func page_loadsItsFiles_fromAFolderThatBrowsersKeep() async throws {
            let visitor = ConsoleVisitor(registry: try .shared)
            let page = try await visitor.send("GET", "/console/")
            #expect(page["Content-Type"] == "text/html; charset=utf-8" && page["Cache-Control"] == "no-cache")
            let links = page.text.matches(of: /(?:src|href)="\.\/([^"]+)"/).map { String($0.1) }
            #expect(!links.isEmpty)
            for link in links {
                let file = try await visitor.send("GET", "/console/\(link)")
                #expect(file.status == 200 && !file.body.isEmpty, "\(link)")
                #expect(file["Cache-Control"] == "public, max-age=31536000, immutable")
                #expect(link.wholeMatch(of: /[0-9a-f]{16}\/.+/) != nil)
                let gzip = try await visitor.send("GET", "/console/\(link)", fields: [("Accept-Encoding", "gzip")])
                #expect(gzip["Content-Encoding"] == "gzip" && gzip["Vary"] == "Accept-Encoding")
                #expect(gzip["ETag"] != file["ETag"])
                // No page of another version gets this version's file.
                let other = "/console/0000000000000000/" + link.drop { $0 != "/" }.dropFirst()
                #expect(try await visitor.send("GET", other).status == 404)
            }
            let redirect = try await visitor.send("GET", "/console")
            #expect(redirect["Location"] == "console/")
        }
    }
}

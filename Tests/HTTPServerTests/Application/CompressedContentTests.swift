import HTTPTypes
import Testing

@testable import HTTPApplication
@testable import HTTPServer

@Suite("A file in memory is compressed once, and not sent twice", .timeLimit(.minutes(5)))
struct CompressedContentTests {
    private static let text = String(repeating: "export const text = 1;\n", count: 1_000)
    private static let gzip = "Accept-Encoding: gzip, br\r\n"

    private static func server() throws -> TestServer {
        let content = try CompressedContent(
            Array(text.utf8), contentType: "text/javascript; charset=utf-8", entityTag: "v1")
        return try TestServer(routes: { _, _ in
            [Route(.get, "/file") { content.response(to: $0, cacheControl: "no-cache") }]
        })
    }

    /// Reads the head only: a 304 has no body.
    private func status(_ fields: String) async throws -> Int {
        try await Self.server().serve { _, client in
            try client.send("GET /file HTTP/1.1\r\nHost: test\r\n\(fields)\r\n")
            return try client.response(toHead: true).status
        }
    }

    private func get(_ fields: String...) async throws -> [TestClient.Response] {
        try await Self.server().serve { _, client in
            try fields.map { try client.get("/file", $0) }
        }
    }

    @Test func coding_isTheOneThatTheClientPrefers() async throws {
        let responses = try await get("", Self.gzip, "Accept-Encoding: gzip;q=0\r\n")
        for response in [responses[0], responses[2]] {
            #expect(response.body == Self.text && response.fields["content-encoding"] == nil)
            #expect(response.fields["etag"] == "\"v1\"")
        }
        let body = try Gunzip(responses[1].bytes)
        #expect(body.isComplete && body.text == Self.text && responses[1].bytes.count < 1_000)
        #expect(responses[1].fields["content-encoding"] == "gzip" && responses[1].fields["etag"] == "\"v1-gzip\"")
        for response in responses {
            #expect(response.fields["vary"] == "Accept-Encoding" && response.fields["cache-control"] == "no-cache")
            #expect(response.fields["content-type"] == "text/javascript; charset=utf-8")
        }
    }

    @Test func file_isNotSent_toAClientThatHasIt() async throws {
        let known = ["If-None-Match: \"v1\"\r\n", "If-None-Match: \"x\", W/\"v1\"\r\n", "If-None-Match: *\r\n"]
        for field in known + [Self.gzip + "If-None-Match: \"v1-gzip\"\r\n"] {
            #expect(try await status(field) == 304, "\(field)")
        }
        for field in ["If-None-Match: \"v1-gzip\"\r\n", "If-None-Match: \"v10\"\r\n", Self.gzip + known[0]] {
            #expect(try await status(field) == 200, "\(field)")
        }
    }
}

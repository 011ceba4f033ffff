import HTTPTypes
import HTTPWire
import Testing

@Suite("The request line is checked byte by byte (RFC 9112 section 3)")
struct RequestLineTests {
    @Test(arguments: ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW", "get", "M-SEARCH", "!#$%&'*"])
    func method_isKept_whenItIsAToken(_ method: String) throws {
        let request = try onlyRequest(Wire.request("\(method) / HTTP/1.1"))
        #expect(request.method == method)
        #expect(request.path == "/")
        #expect(request.version == .http11)
    }

    @Test(arguments: [
        "GET  / HTTP/1.1", "GET /  HTTP/1.1", " GET / HTTP/1.1", "GET\t/ HTTP/1.1", "GET / HTTP/1.1 ", "GET /", "GET",
        "GET / http/1.1", "GET / HTTP/1.", "GET / HTTP/1.10", "GET / HTTP/11", "GET / HTTP 1.1", "GET / HTTPS/1.1",
        "GET / X", "G(T / HTTP/1.1", "G\u{E9}T / HTTP/1.1", "/ HTTP/1.1", "GET / / HTTP/1.1", "GET / HTTP/a.1",
        "GET / HTTP/1.1\n", "\nGET / HTTP/1.1", "GET / HTTP/1.1\rX", "GET\u{301} / HTTP/1.1",
    ])
    func line_isRefused_whenMalformed(_ line: String) {
        expectRefused(Wire.request(line), .malformedRequestLine)
    }

    @Test(arguments: ["HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/3.0", "HTTP/9.9"])
    func version_isRefused_whenItIsNotSupported(_ version: String) {
        expectRefused(Wire.request("GET / \(version)"), .unsupportedVersion)
    }

    @Test func http2Preface_isRefusedAsAVersion() {
        expectRefused(Wire.bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), .unsupportedVersion)
        #expect(WireError(.unsupportedVersion).status.code == 505)
    }

    @Test func tlsClientHello_isRefusedAtItsFirstByte() {
        expectRefused([0x16], .malformedRequestLine)
    }

    @Test func method_isRefused_whenTooLong() throws {
        let longest = String(repeating: "M", count: WireLimits().methodBytesMax)
        let request = try onlyRequest(Wire.request("\(longest) / HTTP/1.1"))
        #expect(request.method == longest)
        expectRefused(Wire.request("\(longest)M / HTTP/1.1"), .methodTooLong)
        #expect(WireError(.methodTooLong).status.code == 501)
    }

    @Test func emptyLines_areSkipped_whenFew() throws {
        let most = WireLimits().leadingEmptyLinesMax
        let lines = String(repeating: "\r\n", count: most)
        let request = try onlyRequest(Wire.bytes(lines) + Wire.request())
        #expect(request.path == "/")
        expectRefused(Wire.bytes(lines + "\r\n") + Wire.request(), .tooManyEmptyLines)
    }

    @Test(arguments: ["\n", "\r", "\r\r\n", "\0\r\n", " \r\n"])
    func emptyLine_isRefused_whenNotCRLF(_ line: String) {
        expectRefused(Wire.bytes(line) + Wire.request(), .malformedRequestLine)
    }
}

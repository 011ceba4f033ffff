import HTTPTypes
import HTTPWire
import Testing

@Suite("The request target (RFC 9112 section 3.2)")
struct RequestTargetTests {
    struct Example: Sendable {
        var target: String
        var method = "GET"
        var form = TargetForm.origin
        var authority = "example.com"
        var path: String
        var query: String?
    }

    static let examples = [
        Example(target: "/", path: "/"),
        Example(target: "//", path: "//"),
        Example(target: "/a/b", path: "/a/b"),
        Example(target: "/a?", path: "/a", query: ""),
        Example(target: "/a?b=c?d", path: "/a", query: "b=c?d"),
        Example(target: "/%41%2f?%20", path: "/%41%2f", query: "%20"),
        Example(target: "/../.", path: "/../."),
        Example(target: "/-._~!$&'()*+,;=:@", path: "/-._~!$&'()*+,;=:@"),
        Example(target: "*", method: "OPTIONS", form: .asterisk, path: ""),
        Example(target: "http://other", form: .absolute, authority: "other", path: "/"),
        Example(target: "http://other", method: "OPTIONS", form: .asterisk, authority: "other", path: ""),
        Example(target: "http://other/", method: "OPTIONS", form: .absolute, authority: "other", path: "/"),
        Example(target: "http://other?q", form: .absolute, authority: "other", path: "/", query: "q"),
        Example(target: "HTTPS://other:8443/a?b", form: .absolute, authority: "other:8443", path: "/a", query: "b"),
        Example(target: "http://[2001:db8::1]:80/a", form: .absolute, authority: "[2001:db8::1]:80", path: "/a"),
    ]

    @Test(arguments: examples)
    func target_isSplit_whenValid(_ example: Example) throws {
        let request = try onlyRequest(Wire.request("\(example.method) \(example.target) HTTP/1.1"))
        #expect(request.form == example.form)
        #expect(request.authority == example.authority)
        #expect(request.path == example.path)
        #expect(request.query == example.query)
    }

    @Test(arguments: [
        "*", "*a", "a", "a/b", "?a", "example.com:443", "/a#b", "/a\"", "/<a>", "/{a}", "/a|b", "/a\\b", "/a^b", "/a`b",
        "/[a]", "/?[a]", "/%", "/%4", "/%4g", "/%g4", "/a?%", "/\u{E9}", "/\u{301}", "/\0", "/\u{7F}", "/\t", "/\n",
        "ftp://a/", "http:/a", "http:a", "http://", "http:///a", "http://u@a/", "http://u:p@a/", "http://a:b/",
        "http://a:65536/", "http://[a/", "http://a]/", "httpx://a/", "http://a/[", "urn:a",
    ])
    func target_isRefused_whenInvalid(_ target: String) {
        expectRefused(Wire.request("GET \(target) HTTP/1.1"), .invalidTarget)
    }

    @Test(arguments: ["example.com:443", "/", "*", "http://example.com/"])
    func connect_isNotSupported(_ target: String) {
        expectRefused(Wire.request("CONNECT \(target) HTTP/1.1"), .connectNotSupported)
        #expect(WireError(.connectNotSupported).status.code == 501)
    }

    @Test func target_isRefused_whenTooLong() throws {
        let longest = "/" + String(repeating: "a", count: 8191)
        let request = try onlyRequest(Wire.request("GET \(longest) HTTP/1.1"))
        #expect(request.path == longest)
        expectRefused(Wire.request("GET \(longest)a HTTP/1.1"), .targetTooLong)
        #expect(WireError(.targetTooLong).status.code == 414)
    }

    @Test func target_isRefused_beforeItsEnd() {
        expectRefused(Wire.bytes("GET /" + String(repeating: "a", count: 8192)), .targetTooLong)
    }
}

@Suite("Host names the addressed host (RFC 9112 section 3.2)")
struct HostTests {
    @Test(arguments: [
        "example.com", "EXAMPLE.com:8080", "localhost", "127.0.0.1:80", "[::1]", "[::1]:8080", "a:", "a:0", "a:65535",
        "xn--bcher-kva.example", "a_b", "%41.example", "[v1.a:b]",
    ])
    func host_isKept_whenValid(_ host: String) throws {
        let request = try onlyRequest(Wire.request(host: host))
        #expect(request.authority == host)
    }

    @Test(arguments: [
        "", " ", ":80", "a b", "a/b", "a?b", "a@b", "a:b", "a:80:80", "a:65536", "a:-1", "[", "[]", "[::1", "::1",
        "[::1]80", "[::1%25a]", "a%", "a%4", "a%zz", "\u{E9}", "http://a", "a#b", "a\\b",
    ])
    func host_isRefused_whenInvalid(_ host: String) {
        expectRefused(Wire.request(host: host), .invalidHost)
    }

    @Test func host_isRequired_inHTTP11() {
        expectRefused(Wire.request(host: nil), .missingHost)
        expectRefused(Wire.request("GET http://example.com/ HTTP/1.1", host: nil), .missingHost)
    }

    @Test func host_isNotRequired_inHTTP10() throws {
        let request = try onlyRequest(Wire.request("GET / HTTP/1.0", host: nil))
        #expect(request.authority == nil)
    }

    @Test(arguments: ["Host: example.com", "host: other", "HOST: "])
    func host_isRefused_whenRepeated(_ second: String) {
        expectRefused(Wire.request(fields: [second]), .duplicateField)
        expectRefused(Wire.request("GET / HTTP/1.0", fields: [second]), .duplicateField)
    }

    @Test func host_isOverridden_byAnAbsoluteTarget() throws {
        let request = try onlyRequest(Wire.request("GET http://a/ HTTP/1.1", host: "b"))
        #expect(request.authority == "a")
        #expect(request.fields[HTTPField.Name("Host")!] == "b")
    }
}

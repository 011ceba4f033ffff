import HTTPTypes
import HTTPWire
import Testing

@testable import HTTPServer

@Suite("Routing")
struct RouterTests {
    private let router = Router(
        [
            "/", "/v1/apps/{app}", "/v1/apps/{app}/audience/count", "/v1/apps/{app}/{kind}/{name}", "/v1/apps/new",
            "/v1/apps/{app}/audience/export/",
        ].map { pattern in Route(.get, pattern) { _ in .text(pattern) } })

    /// The result of routing a path: a pattern and its captures, or a status.
    private func found(_ path: String) throws -> [String] {
        var parser = RequestParser()
        parser.append(Array("GET \(path) HTTP/1.1\r\nHost: t\r\n\r\n".utf8))
        guard case .head(let head)? = try parser.nextEvent() else { return [] }
        switch router.match(head) {
        case .endpoint(let endpoint, let captures): return [endpoint.pattern] + captures
        case .problem(let problem): return ["\(problem.status.code)"]
        case .options: return []
        }
    }

    @Test(arguments: [
        ("/", ["/"]),
        ("/?a=/b", ["/"]),
        ("http://t", ["/"]),
        ("/v1/apps/x", ["/v1/apps/{app}", "x"]),
        ("/v1/apps/new", ["/v1/apps/new"]),
        ("/v1/apps/%6Eew", ["/v1/apps/new"]),
        ("/v1/apps/new/users/u", ["/v1/apps/{app}/{kind}/{name}", "new", "users", "u"]),
        ("/v1/apps/x/audience/count", ["/v1/apps/{app}/audience/count", "x"]),
        ("/v1/apps/x/audience/counts", ["/v1/apps/{app}/{kind}/{name}", "x", "audience", "counts"]),
        ("/v1/apps/a%2Fb%20c/%C3%BC/..", ["/v1/apps/{app}/{kind}/{name}", "a/b c", "ü", ".."]),
        ("/v1/apps/x/audience/export/", ["/v1/apps/{app}/audience/export/", "x"]),
        ("/V1/apps/x", ["404"]),
        ("/v1/apps/", ["404"]),
        ("/v1/apps", ["404"]),
        ("/v1//apps/x", ["404"]),
        ("/v1/apps/x/", ["404"]),
        ("//", ["404"]),
        ("/v1/apps/x/../y", ["/v1/apps/{app}/{kind}/{name}", "x", "..", "y"]),
        ("/v1/apps/%FF", ["400"]),
        ("/v1/apps/%00", ["400"]),
    ]) func pathIsRouted(_ path: String, _ expected: [String]) throws {
        #expect(try found(path) == expected)
    }
}

@Suite("Addresses and the headers of proxies")
struct AddressTests {
    private func head(_ fields: String) throws -> RequestHead {
        var parser = RequestParser()
        parser.append(Array("GET / HTTP/1.1\r\nHost: t\r\n\(fields)\r\n".utf8))
        guard case .head(let head)? = try parser.nextEvent() else { throw CancellationError() }
        return head
    }

    @Test(arguments: [
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.1,10.0.0.2", "198.51.100.1"),
        ("10.0.0.1", "10.0.0.3 , 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "1.1.1.1, nonsense", "10.0.0.1"),
        ("10.0.0.1", "1.1.1.1, unknown, 10.0.0.2", "10.0.0.2"),
        ("fd00::1", "2001:db8::5", "2001:db8::5"),
    ]) func clientIsTheLastUntrustedAddress_whenProxiesForward(
        _ peer: String, _ list: String, _ client: String
    ) throws {
        var configuration = HTTPServerConfiguration(addresses: [])
        configuration.trustedProxies = [AddressRange("10.0.0.0/8")!, AddressRange("fd00::/8")!]
        let head = try head("X-Forwarded-For: \(list)\r\n")
        #expect(configuration.clientAddress(head, peer: IPAddress(peer)!).description == client)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("0.0.0.0/0", "9.9.9.9", true),
        ("0.0.0.0/0", "::1", false), ("::/0", "::1", true), ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false), ("2001:db8::/33", "2001:db8:8000::1", false),
        ("::ffff:10.0.0.1", "10.0.0.1", true),
    ]) func rangeContainsAnAddress_whenTheirPrefixesAreEqual(_ range: String, _ address: String, _ isIn: Bool) {
        #expect(AddressRange(range)?.contains(IPAddress(address)!) == isIn)
    }

    @Test(arguments: ["10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "::/129", "t", "10.0.0.0/-1"])
    func rangeIsRefused_whenItIsMalformed(_ text: String) {
        #expect(AddressRange(text) == nil)
    }

    @Test func listenAddressIsParsed() {
        #expect(ListenAddress("127.0.0.1:8080") == ListenAddress(host: "127.0.0.1", port: 8080))
        #expect(ListenAddress("[::1]:8080") == ListenAddress(host: "::1", port: 8080))
        #expect(ListenAddress(":0") == ListenAddress(host: "", port: 0))
        #expect(ListenAddress("[::1]:8080")?.description == "[::1]:8080")
        for wrong in ["8080", "::1:8080", "localhost", "localhost:99999", "localhost:-1", ""] {
            #expect(ListenAddress(wrong) == nil)
        }
    }

    @Test func traceIDIsRead_whenTheFieldIsValid() throws {
        let (trace, parent) = (String(repeating: "a1", count: 16), String(repeating: "b2", count: 8))
        let known = try #require(TraceParent(head("Traceparent: 00-\(trace)-\(parent)-01\r\n")))
        #expect(known.traceID == trace)
        for wrong in [
            "00-\(trace)-\(parent)", "ff-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-01-x",
            "00-\(String(repeating: "0", count: 32))-\(parent)-01", "00-\(trace.uppercased())-\(parent)-01", "",
        ] {
            #expect(TraceParent(try head("Traceparent: \(wrong)\r\n")) == nil)
        }
    }

    @Test func addressesPrintUnchanged_whenTheyAreCanonical() {
        for text in ["127.0.0.1", "::1", "2001:db8::1:0:0:1", "255.255.255.255", "::"] {
            #expect(IPAddress(text)?.description == text)
        }
    }

    @Test func dateIsRendered_asInTheStandard() {
        #expect(String(decoding: ResponseDate.render(784_111_777), as: UTF8.self) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}

import HTTPTypes
import HTTPWire
import Testing

@testable import HTTPApplication
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
        let head = try RequestHead.make(target: path)
        switch router.match(head) {
        case .endpoint(let endpoint, let captures):
            return [endpoint.pattern] + (0..<captures.count).map { captures.text($0, of: head.path) }
        case .problem(let problem): return ["\(problem.status.code)"]
        case .options: return []
        }
    }

    /// As a resource whose id is the name of a call.
    @Test func capture_isTried_whenTheLiteralHasNoRouteOfTheMethod() throws {
        let router = Router([
            Route(.delete, "/users/{user}") { _ in .text("") }, Route(.post, "/users/list") { _ in .text("") },
        ])
        func found(_ method: HTTPRequest.Method) throws -> String {
            switch router.match(try RequestHead.make(method.rawValue, target: "/users/list")) {
            case .endpoint(let endpoint, let captures): "\(endpoint.pattern) \(captures.count)"
            case .problem(let problem): "\(problem.status.code)"
            case .options(let allow): allow
            }
        }
        #expect(try found(.delete) == "/users/{user} 1")
        #expect(try found(.post) == "/users/list 0")
        #expect(try found(.get) == "405")
        #expect(try found(.options) == "OPTIONS, POST")
    }

    @Test(arguments: [
        ("/", ["/"]),
        ("/?a=/b", ["/"]),
        ("http://t", ["/"]),
        ("/v1/apps/x", ["/v1/apps/{app}", "x"]),
        ("/v1/apps/new", ["/v1/apps/new"]),
        // A proxy may refuse the literal path.
        ("/v1/apps/%6Eew", ["/v1/apps/{app}", "new"]),
        ("/v%31/apps/x", ["404"]),
        ("/%76%31/apps/x", ["404"]),
        ("/v1/apps/x/audienc%65/count", ["/v1/apps/{app}/{kind}/{name}", "x", "audience", "count"]),
        ("/v1/apps/x/audienc%65/export/", ["404"]),
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

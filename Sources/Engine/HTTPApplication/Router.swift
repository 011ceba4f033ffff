public import HTTPTypes
import HTTPWire

/// Finds the route of a request: a tree of path segments, matched against the bytes of the path.
///
/// Paths are case-sensitive. They are split before they are decoded, so that an encoded slash stays in its segment.
/// Only captures are decoded: a proxy that compares the bytes of a path must see the literal segments as they are here.
/// A literal segment takes precedence over a capture; if the rest of the path does not match, or no route there has
/// the method, the capture is tried. A GET route also serves HEAD. The router responds to OPTIONS and to unsupported
/// methods with the list of methods (`Allow`).
public struct Router: Sendable {
    private struct Node: Sendable {
        var literals: [(segment: [UInt8], node: Int)] = []
        var capture: Int?
        var endpoints: [Endpoint] = []
        var allow = ""
    }

    private var nodes = [Node()]
    private var allowOfAll = ""

    /// Traps if two routes have the same method and path, whatever the names of their captures, or if a pattern does
    /// not start with a slash or captures too much.
    public init(_ routes: [Route]) {
        for route in routes { insert(Endpoint(route)) }
        for index in nodes.indices { nodes[index].allow = Self.allow(nodes[index].endpoints) }
        allowOfAll = Self.allow(nodes.flatMap(\.endpoints))
    }

    private mutating func insert(_ endpoint: Endpoint) {
        var index = 0
        for segment in endpoint.segments {
            index = child(of: index, segment)
        }
        let isNew = nodes[index].endpoints.allSatisfy { $0.method != endpoint.method }
        precondition(isNew, "two routes for \(endpoint.method) \(endpoint.pattern)")
        nodes[index].endpoints.append(endpoint)
    }

    private mutating func child(of parent: Int, _ segment: Endpoint.Segment) -> Int {
        switch segment {
        case .capture:
            if let node = nodes[parent].capture { return node }
            nodes[parent].capture = nodes.count
        case .literal(let bytes):
            if let known = nodes[parent].literals.first(where: { $0.segment == bytes }) { return known.node }
            nodes[parent].literals.append((bytes, nodes.count))
        }
        nodes.append(Node())
        return nodes.count - 1
    }

    private static func allow(_ endpoints: [Endpoint]) -> String { allow(endpoints.map(\.method)) }

    /// The value of `Allow` for a resource with routes for these methods.
    static func allow(_ routed: [HTTPRequest.Method]) -> String {
        var methods = Set(routed.map(\.rawValue))
        if methods.contains("GET") { methods.insert("HEAD") }
        methods.insert("OPTIONS")
        return methods.sorted().joined(separator: ", ")
    }
}

// MARK: - Finding

extension Router {
    package enum Match {
        case endpoint(Endpoint, captures: PathCaptures)
        case options(allow: String)
        case problem(Problem)
    }

    package func match(_ head: RequestHead) -> Match {
        if head.targetForm == .asterisk { return .options(allow: allowOfAll) }
        var captures = PathCaptures()
        do {
            let path = head.path
            if let node = try find(path, from: path.startIndex, in: 0, &captures, for: head.method),
                let endpoint = endpoint(head.method, nodes[node])
            {
                return .endpoint(endpoint, captures: captures)
            }
            captures = PathCaptures()
            guard let node = try find(path, from: path.startIndex, in: 0, &captures) else { return .problem(.notFound) }
            return refusal(of: head.method, at: nodes[node])
        } catch {
            return .problem(Problem(error))
        }
    }

    private func refusal(of method: HTTPRequest.Method, at node: Node) -> Match {
        if method == .options { return .options(allow: node.allow) }
        return .problem(.methodNotAllowed(allow: node.allow))
    }

    private func endpoint(_ method: HTTPRequest.Method, _ node: Node) -> Endpoint? {
        if let endpoint = node.endpoints.first(where: { $0.method == method }) { return endpoint }
        return method == .head ? node.endpoints.first { $0.method == .get } : nil
    }

    /// The node for the path from the slash at `start`, or nil. `captures` collects the captured segments.
    ///
    /// - Parameter method: nil: any method of a route.
    private func find(
        _ path: ArraySlice<UInt8>, from start: Int, in node: Int, _ captures: inout PathCaptures,
        for method: HTTPRequest.Method? = nil
    ) throws(WireError) -> Int? {
        guard start < path.endIndex else {
            let isFound = method.map { endpoint($0, nodes[node]) != nil } ?? !nodes[node].endpoints.isEmpty
            return isFound ? node : nil
        }
        let segment = Self.segment(path, at: start + 1)
        if let child = literal(segment, of: node),
            let found = try find(path, from: segment.endIndex, in: child, &captures, for: method)
        {
            return found
        }
        guard let child = nodes[node].capture, !segment.isEmpty else { return nil }
        try captures.append(segment)
        if let found = try find(path, from: segment.endIndex, in: child, &captures, for: method) { return found }
        captures.removeLast()
        return nil
    }

    private static func segment(_ path: ArraySlice<UInt8>, at start: Int) -> ArraySlice<UInt8> {
        var end = start
        while end < path.endIndex, path[end] != UInt8(ascii: "/") { end += 1 }
        return path[start..<end]
    }

    private func literal(_ segment: ArraySlice<UInt8>, of node: Int) -> Int? {
        nodes[node].literals.first { $0.segment.elementsEqual(segment) }?.node
    }
}

/// The segments of a path that a pattern captures, as positions in the path: decoded only on use.
package struct PathCaptures: Sendable {
    /// A pattern has no more.
    static let countMax = 4

    package private(set) var count = 0
    private var segments = InlineArray<4, Range<Int>>(repeating: 0..<0)

    /// - Throws: if the segment cannot be decoded.
    mutating func append(_ segment: ArraySlice<UInt8>) throws(WireError) {
        if segment.contains(UInt8(ascii: "%")) { _ = try PercentEncoding.decode(segment) }
        segments[count] = segment.startIndex..<segment.endIndex
        count += 1
    }

    mutating func removeLast() { count -= 1 }

    /// - Parameter path: the one that was matched.
    package func text(_ index: Int, of path: ArraySlice<UInt8>) -> String {
        guard let text = try? PercentEncoding.decode(path[segments[index]]) else {
            preconditionFailure("a captured segment was decoded before")
        }
        return text
    }
}

/// A route in the form that the router stores.
package final class Endpoint: Sendable {
    enum Segment {
        case literal([UInt8])
        case capture
    }

    package let method: HTTPRequest.Method
    package let pattern: String
    package let bodyBytesMax: Int
    package let admit: Handler?
    package let handler: Handler
    package let constant: ServerResponse?
    package let captureNames: [String]

    init(_ route: Route) {
        precondition(route.pattern.hasPrefix("/"), "a route's pattern must start with a slash: \(route.pattern)")
        method = route.method
        pattern = route.pattern
        bodyBytesMax = route.bodyBytesMax
        admit = route.admit
        handler = route.handler
        constant = route.constant
        captureNames = Self.split(route.pattern).compactMap(Self.captureName)
        precondition(captureNames.count <= PathCaptures.countMax, "too many captures: \(route.pattern)")
    }

    var segments: [Segment] {
        Self.split(pattern).map { Self.captureName($0) == nil ? .literal(Array($0.utf8)) : .capture }
    }

    private static func split(_ pattern: String) -> [Substring] {
        pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    }

    private static func captureName(_ segment: Substring) -> String? {
        guard segment.hasPrefix("{"), segment.hasSuffix("}") else { return nil }
        return String(segment.dropFirst().dropLast())
    }
}

/// Responds to a request, on the loop of its connection.
///
/// It may throw a `Problem`, which becomes the response. Any other error is logged and becomes a 500 without details.
/// Its task is cancelled when its client goes away and when its deadline passes.
public typealias Handler = @Sendable (ServerRequest) async throws -> ServerResponse

/// Returns a handler that calls the given one: it sees the request before that, and the response after it.
public typealias Middleware = (_ next: @escaping Handler) -> Handler

/// The handler of one method at one path.
public struct Route: Sendable {
    /// A GET route also serves HEAD, unless a HEAD route has the same pattern.
    public let method: HTTPRequest.Method
    /// `/v1/apps/{app}/installations/{installId}`: a name in braces captures one whole, non-empty segment.
    public let pattern: String
    /// The largest body that is kept for the handler; beyond, `ServerRequest.body` throws.
    public let bodyBytesMax: Int
    /// Checks the head of a request whose body has not arrived yet. A response of status 100 means that the body is
    /// read. Any other is the final response, and the body is not read. Not called if the body arrives with the head.
    public let admit: Handler?
    /// Called once for each request that was admitted, when its body is complete or too large.
    public let handler: Handler
    /// The response to every request. The server sends it without a task and without calling `handler`.
    let constant: ServerResponse?

    /// By default the route keeps no body and admits every head.
    public init(
        _ method: HTTPRequest.Method, _ pattern: String, bodyBytesMax: Int = 0, admit: Handler? = nil,
        handler: @escaping Handler
    ) {
        self.method = method
        self.pattern = pattern
        self.bodyBytesMax = bodyBytesMax
        self.admit = admit
        self.handler = handler
        constant = nil
    }

    /// A route whose response is always the same. It takes no body, and its response must not be a stream.
    public init(_ method: HTTPRequest.Method, _ pattern: String, constant: ServerResponse) {
        self.method = method
        self.pattern = pattern
        self.constant = constant
        bodyBytesMax = 0
        admit = nil
        handler = { _ in constant }
    }

    /// The route, with `admit` as the check of heads if it accepts bodies at all.
    public func admitting(_ admit: @escaping Handler) -> Route {
        guard bodyBytesMax > 0 else { return self }
        return Route(method, pattern, bodyBytesMax: bodyBytesMax, admit: admit, handler: handler)
    }

    /// The route with `middleware` around `handler` and `admit`. A constant response stays as it is.
    public func wrapped(in middleware: Middleware) -> Route {
        guard constant == nil else { return self }
        return Route(
            method, pattern, bodyBytesMax: bodyBytesMax, admit: admit.map(middleware), handler: middleware(handler))
    }
}

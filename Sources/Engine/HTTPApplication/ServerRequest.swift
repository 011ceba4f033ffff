public import Basics
public import HTTPTypes
public import HTTPWire

/// One request, as a handler sees it. Copying it copies references.
public struct ServerRequest: Sendable {
    private let exchange: Exchange
    private let content: RequestContent
    /// As received. Its fields may contain credentials.
    public let head: RequestHead

    /// - Parameter exchange: must have a head and an endpoint.
    package init(_ exchange: Exchange, _ content: RequestContent) {
        guard let head = exchange.head else { preconditionFailure("a handler needs a request") }
        self.exchange = exchange
        self.content = content
        self.head = head
    }

    /// HEAD too, if a GET route serves it; the server then leaves out the body.
    public var method: HTTPRequest.Method { head.method }

    /// The captured segments of the route's pattern, decoded.
    public var parameters: PathParameters {
        guard case .endpoint(let endpoint, let captures) = exchange.target else {
            return PathParameters([], PathCaptures(), of: [])
        }
        return PathParameters(endpoint.captureNames, captures, of: head.path)
    }

    /// The client's own identifier if it sent a valid one, else one that the server generated.
    public var requestID: RequestID { exchange.requestID }

    /// The client's address: the peer's, or the one that trusted proxies report in `X-Forwarded-For`.
    public var clientAddress: IPAddress { exchange.clientAddress }

    /// The pattern of the matched route, for logs and metrics.
    public var routePattern: String { exchange.endpoint?.pattern ?? "" }

    /// The body, empty if there is none.
    ///
    /// - Throws: 413 as a `Problem` if the body is larger than the route's `bodyBytesMax`. It is thrown here so that a
    ///   handler decides which checks come first. Such a body is not kept.
    public var body: [UInt8] {
        get throws(Problem) {
            switch content {
            case .bytes(let bytes): return bytes
            case .tooLarge: throw .bodyTooLarge
            }
        }
    }
}

/// The captured segments of a route's pattern, by name.
public struct PathParameters: Sendable {
    private let names: [String]
    private let captures: PathCaptures
    private let path: ArraySlice<UInt8>

    init(_ names: [String], _ captures: PathCaptures, of path: ArraySlice<UInt8>) {
        self.names = names
        self.captures = captures
        self.path = path
    }

    /// The value of `{name}`, decoded. The pattern must contain it.
    public subscript(_ name: String) -> String {
        guard let index = names.firstIndex(of: name) else {
            preconditionFailure("the route's pattern has no {\(name)}")
        }
        return captures.text(index, of: path)
    }
}

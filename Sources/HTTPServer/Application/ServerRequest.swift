public import HTTPTypes
public import HTTPWire

/// One request as a handler gets it. Copying it copies one reference.
public struct ServerRequest: Sendable {
    private let exchange: Exchange
    public let head: RequestHead

    /// - Parameter exchange: one with a head and an endpoint.
    init(_ exchange: Exchange) {
        guard let head = exchange.head else { preconditionFailure("a handler needs a request") }
        self.exchange = exchange
        self.head = head
    }

    public var method: HTTPRequest.Method { head.method }

    /// The captures of the route's pattern, decoded.
    public var parameters: PathParameters {
        guard case .endpoint(let endpoint, let captures) = exchange.target else { return PathParameters([], []) }
        return PathParameters(endpoint.captureNames, captures)
    }

    public var requestID: RequestID { exchange.requestID }

    /// The client: the peer, or whom the configured proxies name in `X-Forwarded-For`.
    public var clientAddress: IPAddress { exchange.clientAddress }

    /// The pattern of the route that was found, for logs and metrics.
    public var routePattern: String { exchange.endpoint?.pattern ?? "" }

    /// The body, empty if there is none.
    ///
    /// - Throws: 413 as a `Problem` if it is larger than the route's `bodyBytesMax`: a handler thus decides what it
    ///   checks before. Such a body was never kept.
    public var body: [UInt8] {
        get throws(Problem) {
            if exchange.isBodyTooLarge { throw .bodyTooLarge }
            return exchange.body
        }
    }
}

/// The captures of a route's pattern by their names in it.
public struct PathParameters: Sendable {
    private let names: [String]
    private let values: [String]

    init(_ names: [String], _ values: [String]) {
        self.names = names
        self.values = values
    }

    /// The value of `{name}`. A name that the pattern lacks is a fault of the program.
    public subscript(_ name: String) -> String {
        guard let index = names.firstIndex(of: name) else {
            preconditionFailure("the route's pattern has no {\(name)}")
        }
        return values[index]
    }
}

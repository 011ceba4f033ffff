public import HTTPTypes
public import HTTPWire

/// One request, complete, as a handler gets it.
public struct ServerRequest: Sendable {
    public let head: RequestHead
    /// The captures of the route's pattern, decoded.
    public let parameters: PathParameters
    public let requestID: RequestID
    /// The peer of the connection, which may be a proxy.
    public let remoteAddress: SocketAddress
    /// The client: the peer, or whom the configured proxies name in `X-Forwarded-For`.
    public let clientAddress: IPAddress
    /// The pattern of the route that was found, for logs and metrics.
    public let routePattern: String

    let content: Content

    /// What became of a request's body.
    enum Content: Sendable {
        case complete([UInt8])
        case tooLarge
    }

    public var method: HTTPRequest.Method { head.method }

    /// The body, empty if there is none.
    ///
    /// - Throws: 413 as a `Problem` if it is larger than the route's `bodyBytesMax`: a handler thus decides what it
    ///   checks before. Such a body was never kept.
    public var body: [UInt8] {
        get throws(Problem) {
            switch content {
            case .complete(let bytes): bytes
            case .tooLarge: throw .bodyTooLarge
            }
        }
    }

    /// The trace the request belongs to, if its sender says so.
    public var traceParent: TraceParent? { TraceParent(head) }
}

/// The captures of a route's pattern by their names in it.
public struct PathParameters: Sendable {
    let names: [String]
    let values: [String]

    /// The value of `{name}`. A name that the pattern lacks is a fault of the program.
    public subscript(_ name: String) -> String {
        guard let index = names.firstIndex(of: name) else {
            preconditionFailure("the route's pattern has no {\(name)}")
        }
        return values[index]
    }
}

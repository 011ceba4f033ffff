public import HTTPTypes

/// Makes the answer of a request, on the loop of its connection.
///
/// It may throw a `Problem`, which becomes its answer; any other error is logged and becomes a 500 that says nothing.
/// Its task is cancelled when its client goes away and when its deadline passes.
public typealias Handler = @Sendable (ServerRequest) async throws -> ServerResponse

/// Wraps a handler: sees the request before it and the answer behind it.
public typealias Middleware = @Sendable (ServerRequest, Handler) async throws -> ServerResponse

/// What answers one method of one path.
public struct Route: Sendable {
    public let method: HTTPRequest.Method
    /// `/v1/apps/{app}/installations/{installId}`: a name in braces captures one whole segment, which is never empty.
    public let pattern: String
    /// The largest body that is kept for the handler.
    public let bodyBytesMax: Int
    public let handler: Handler

    public init(
        _ method: HTTPRequest.Method, _ pattern: String, bodyBytesMax: Int = 0, handler: @escaping Handler
    ) {
        self.method = method
        self.pattern = pattern
        self.bodyBytesMax = bodyBytesMax
        self.handler = handler
    }

    /// The route with `middleware` around its handler, the first outermost.
    public func wrapped(in middleware: [Middleware]) -> Route {
        let handler = middleware.reversed().reduce(handler) { inner, outer in
            { request in try await outer(request, inner) }
        }
        return Route(method, pattern, bodyBytesMax: bodyBytesMax, handler: handler)
    }
}

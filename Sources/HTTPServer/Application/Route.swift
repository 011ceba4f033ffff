public import HTTPTypes

/// Makes the response to a request, on the loop of its connection.
///
/// It may throw a `Problem`, which becomes the response; any other error is logged and becomes a 500 that says nothing.
/// Its task is cancelled when its client goes away and when its deadline passes.
public typealias Handler = @Sendable (ServerRequest) async throws -> ServerResponse

/// Wraps a handler: sees the request before it and the response behind it.
public typealias Middleware = @Sendable (ServerRequest, Handler) async throws -> ServerResponse

/// What responds to one method of one path.
public struct Route: Sendable {
    public let method: HTTPRequest.Method
    /// `/v1/apps/{app}/installations/{installId}`: a name in braces captures one whole segment, which is never empty.
    public let pattern: String
    /// The largest body that is kept for the handler.
    public let bodyBytesMax: Int
    /// Judges the head of a request whose body is still on its way: a response of status 100 lets the body come, any
    /// other is the final one, and the body is not read. A body that comes along with its head is not judged so.
    public let admit: Handler?
    public let handler: Handler

    public init(
        _ method: HTTPRequest.Method, _ pattern: String, bodyBytesMax: Int = 0, admit: Handler? = nil,
        handler: @escaping Handler
    ) {
        self.method = method
        self.pattern = pattern
        self.bodyBytesMax = bodyBytesMax
        self.admit = admit
        self.handler = handler
    }

    /// The route with bodies only for requests that `admit` lets pass, if it takes bodies at all.
    public func admitting(_ admit: @escaping Handler) -> Route {
        guard bodyBytesMax > 0 else { return self }
        return Route(method, pattern, bodyBytesMax: bodyBytesMax, admit: admit, handler: handler)
    }

    /// The route with `middleware` around its handler and its judge of heads, the first outermost.
    public func wrapped(in middleware: [Middleware]) -> Route {
        Route(
            method, pattern, bodyBytesMax: bodyBytesMax, admit: admit.map { Self.wrap($0, middleware) },
            handler: Self.wrap(handler, middleware))
    }

    private static func wrap(_ handler: @escaping Handler, _ middleware: [Middleware]) -> Handler {
        middleware.reversed().reduce(handler) { inner, outer in
            { request in try await outer(request, inner) }
        }
    }
}

public import HTTPTypes

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

public import HTTPTypes
public import HTTPWire

/// The application of a server. Each event loop has its own, created on that loop, so that handlers may keep state
/// there, such as a connection pool or a coalescer.
public struct Application: Sendable {
    /// Finds the handler of each request; reports 404 and 405, and responds to OPTIONS.
    public var router: Router

    /// Renders a problem that the protocol, the router or a handler reports. Called on the loop. The response must not
    /// be a stream.
    public var renderProblem: @Sendable (Problem, RequestID) -> ServerResponse

    /// Further fields of the responses that the server makes itself: problems, and the response to OPTIONS. They
    /// replace fields of the same name. Nil: none.
    public var ownFields: (@Sendable (RequestHead) -> HTTPFields)?

    /// Notified of every request, for access logs and metrics.
    public var observers: [any RequestObserver]

    /// - Parameter renderProblem: by default one line of text.
    public init(
        router: Router, observers: [any RequestObserver] = [],
        renderProblem: @escaping @Sendable (Problem, RequestID) -> ServerResponse = Application.renderPlainly
    ) {
        self.router = router
        self.observers = observers
        self.renderProblem = renderProblem
    }

    /// Renders a problem as one line of text.
    @Sendable public static func renderPlainly(_ problem: Problem, _ requestID: RequestID) -> ServerResponse {
        var response = ServerResponse.text("\(problem.code): \(problem.detail)\n", status: problem.status)
        response.fields.append(contentsOf: problem.fields)
        return response
    }
}

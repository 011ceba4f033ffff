public import HTTPTypes
public import HTTPWire

/// What the server serves. Each event loop has its own, created on that loop, so that handlers may keep state there: a
/// connection pool, a coalescer.
public struct Application: Sendable {
    public var router: Router

    /// Renders a problem that the protocol, the router or a handler reports.
    public var renderProblem: @Sendable (Problem, RequestID) -> ServerResponse

    /// Further fields of the responses that the server makes itself: of problems, and to OPTIONS. Nil: none.
    public var ownFields: (@Sendable (RequestHead) -> HTTPFields)?

    /// Notified of every request, for access logs and metrics.
    public var observer: (any RequestObserver)?

    public init(
        router: Router, observer: (any RequestObserver)? = nil,
        renderProblem: @escaping @Sendable (Problem, RequestID) -> ServerResponse = Application.renderPlainly
    ) {
        self.router = router
        self.observer = observer
        self.renderProblem = renderProblem
    }

    /// Renders a problem as one line of text.
    @Sendable public static func renderPlainly(_ problem: Problem, _ requestID: RequestID) -> ServerResponse {
        var response = ServerResponse.text("\(problem.code): \(problem.detail)\n", status: problem.status)
        response.fields.append(contentsOf: problem.fields)
        return response
    }
}

public import Basics
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

/// Notified of each request when its response is sent or has failed. Called on the connection's loop between requests,
/// so it must be quick and must not block.
public protocol RequestObserver: Sendable {
    /// Called once for each request, and once for input that is not a request. A connection that is closed at the limit
    /// of its address is not reported.
    func didFinish(_ request: FinishedRequest)
}

/// A finished request. Its head may contain secrets, but printing it reveals none.
public struct FinishedRequest: Sendable {
    /// Nil if the input was not a request.
    public let head: RequestHead?
    /// The route's pattern; nil if no route was found. Safe as a label, because a client cannot choose it.
    public let routePattern: String?
    /// The value of `X-Request-Id` in the response.
    public let requestID: RequestID
    /// As `ServerRequest.clientAddress`; the peer's if the input was not a request.
    public let clientAddress: IPAddress
    /// Nil if there was no response.
    public let status: HTTPResponse.Status?
    /// From the end of the head to the end of the response; zero if the input was not a request.
    public let duration: Duration
    /// The bytes of the body that were read, without chunk framing; dropped ones included.
    public let requestBodyBytes: Int
    /// The bytes of the body that were written, without chunk framing; none for HEAD. Some may not have been sent.
    public let responseBodyBytes: Int
    /// Whether the whole response was handed to the system to send; false if the client went away earlier.
    public let isComplete: Bool

    package init(
        head: RequestHead?, routePattern: String?, requestID: RequestID, clientAddress: IPAddress,
        status: HTTPResponse.Status?, duration: Duration, requestBodyBytes: Int, responseBodyBytes: Int,
        isComplete: Bool
    ) {
        self.head = head
        self.routePattern = routePattern
        self.requestID = requestID
        self.clientAddress = clientAddress
        self.status = status
        self.duration = duration
        self.requestBodyBytes = requestBodyBytes
        self.responseBodyBytes = responseBodyBytes
        self.isComplete = isComplete
    }
}

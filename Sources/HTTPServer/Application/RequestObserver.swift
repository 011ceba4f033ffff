public import HTTPTypes
public import HTTPWire

/// Hears about each request when its answer is written, or has failed. Called on the connection's loop, between
/// requests: it must be quick and must not wait.
public protocol RequestObserver: Sendable {
    func didFinish(_ request: FinishedRequest)
}

/// What there is to say about a request once it is over. It refers to no secret: the head's values are for those who
/// ask for one by name.
public struct FinishedRequest: Sendable {
    /// Nil if what came was no request.
    public let head: RequestHead?
    /// The route's pattern, nil if none was found: a label that no client can choose.
    public let routePattern: String?
    public let requestID: RequestID
    public let clientAddress: IPAddress
    /// Nil if there was no answer.
    public let status: HTTPResponse.Status?
    /// From the end of the head to the end of the answer.
    public let duration: Duration
    public let requestBodyBytes: Int
    public let responseBodyBytes: Int
    /// Whether the whole answer was given to the system to send; false if the client went away before.
    public let isComplete: Bool
}

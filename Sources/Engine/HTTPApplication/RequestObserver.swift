public import Basics
public import HTTPTypes
public import HTTPWire

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

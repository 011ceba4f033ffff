public import HTTPTypes
public import HTTPWire

/// Notified of each request when its response is sent or has failed. Called on the connection's loop between requests,
/// so it must be quick and must not block.
public protocol RequestObserver: Sendable {
    func didFinish(_ request: FinishedRequest)
}

/// A finished request. Its head may contain secrets, which a caller reads only by the name of their field.
public struct FinishedRequest: Sendable {
    /// Nil if the input was not a request.
    public let head: RequestHead?
    /// The route's pattern; nil if no route was found. Safe as a label, because a client cannot choose it.
    public let routePattern: String?
    public let requestID: RequestID
    public let clientAddress: IPAddress
    /// Nil if there was no response.
    public let status: HTTPResponse.Status?
    /// From the end of the head to the end of the response.
    public let duration: Duration
    public let requestBodyBytes: Int
    public let responseBodyBytes: Int
    /// Whether the whole response was handed to the system to send; false if the client went away earlier.
    public let isComplete: Bool
}
